"""The checkpoints of a run, as every trainer here leaves them: ``checkpoint-<step>`` folders."""

from __future__ import annotations

from pathlib import Path


def checkpoints(out: Path) -> list[Path]:
    """Return the finished checkpoint folders under ``out``, in order of step."""
    found = [path for path in out.glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    return sorted(found, key=step_of)


def step_of(checkpoint: Path) -> int:
    """Return the step that a checkpoint folder is named after.

    >>> step_of(Path("run/checkpoint-50"))
    50
    """
    return int(checkpoint.name.rpartition("-")[2])


def last_checkpoint(out: Path) -> str | None:
    """Return the latest finished checkpoint, to go on from; None where there is none."""
    found = checkpoints(out)
    return str(found[-1]) if found else None


def is_done(steps: int, out: Path) -> bool:
    """Tell whether the checkpoint of the last of ``steps`` is there."""
    found = checkpoints(out)
    return bool(found) and step_of(found[-1]) >= steps
