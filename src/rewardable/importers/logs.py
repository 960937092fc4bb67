"""Metrics that a training run logged, and counts of what it dumped: ours, TRL's, verl's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.importers.dump import in_order
from rewardable.importers.sources import Damage, read_rows

OURS, TRL, VERL = "rewardable", "TRL", "verl"
TRAINER_STATE = "trainer_state.json"


@dataclass(frozen=True, kw_only=True)
class MetricsLog:
    """steps: step -> numbers by the trainer's own names, ascending. notes: what was left out."""

    format: str
    steps: Mapping[int, Mapping[str, float]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Counts of one file of a dump: prompt -> (graded, successes). outputs: texts of each prompt.

    held_out: a validation dump; a training dump holds the prompts that the step learnt from.
    """

    step: int
    held_out: bool
    counts: Mapping[str, tuple[int, int]]
    outputs: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    ungraded: int = 0


def read_metrics(path: Path) -> MetricsLog:
    """Read a metrics file, telling by its rows who wrote it.

    ``trainer_state.json`` of TRL (or a folder of its checkpoints, the latest counts), the JSON
    Lines of verl's file logger (``{"step": ..., "data": {...}}``), or our ``metrics.jsonl``. Of a
    step that was logged twice, as by a run that was taken up again, the later line counts.

    Raises
    ------
    DataError: there is no such file, or its rows are neither.
    """
    if path.is_dir():
        path = _latest_state(path)
    if not path.is_file():
        raise DataError(f"there is no metrics file {path}.")
    if path.name == TRAINER_STATE:
        return _of_trainer(path)
    damage = Damage()
    rows = [row.value for row in read_rows(path, "jsonl", damage, skip_broken=False)]
    if not rows:
        raise DataError(f"{path} holds no row.")
    notes = ("the last line is cut off and left out",) if damage.torn_line else ()
    if all("data" in row and "step" in row for row in rows):
        found = [(row["step"], row["data"]) for row in rows]
        return MetricsLog(format=VERL, steps=_by_step(found, path), notes=notes)
    if not all("step" in row for row in rows):
        raise DataError(
            f"{path} is no metrics file that is known: every row needs a step, as in metrics.jsonl "
            "of a run here or in verl's file logger; of TRL give trainer_state.json."
        )
    kinds = [row for row in rows if row.get("kind", "train") == "train"]
    return MetricsLog(
        format=OURS, steps=_by_step([(row["step"], row) for row in kinds], path), notes=notes
    )


def _latest_state(folder: Path) -> Path:
    found = in_order([*folder.glob(f"checkpoint-*/{TRAINER_STATE}"), *folder.glob(TRAINER_STATE)])
    if not found:
        raise DataError(f"{folder} holds no metrics: neither metrics.jsonl nor {TRAINER_STATE}.")
    return max(found, key=lambda path: len(_history(path)))


def _history(path: Path) -> list[dict[str, Any]]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["log_history"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no trainer state with a log_history: {error!r}.") from error


def _of_trainer(path: Path) -> MetricsLog:
    """Keep what training steps logged; evaluation rows are another series."""
    rows = _history(path)
    train = [r for r in rows if "loss" in r and not any(k.startswith("eval_") for k in r)]
    left = sum(any(name.startswith("eval_") for name in row) for row in rows)
    notes = (f"{left} evaluation rows are another series and are left out",) if left else ()
    steps = _by_step([(row.get("step"), row) for row in train], path)
    return MetricsLog(format=TRL, steps=steps, notes=notes)


def _by_step(rows: list[tuple[Any, Any]], path: Path) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for step, row in rows:
        if not isinstance(step, int) or not isinstance(row, Mapping):
            raise DataError(f"{path}: a row needs a whole step and numbers by name, got {row!r}.")
        found[step] = dict(_numbers(row))
    return dict(sorted(found.items()))


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the numbers; null stands for one that was not finite."""
    for name, value in row.items():
        if name not in ("step", "kind") and isinstance(value, int | float | None):
            yield name, float("nan") if value is None else float(value)


def read_dump(folder: Path, success_at: float = 1.0) -> list[Sampled]:
    """Read verl's ``{folder}/{step}.jsonl`` in order of step.

    Prompts are told apart by ``uid`` without its last two parts where there is one, else by their
    text and ``gts``. A rollout succeeds from ``success_at`` on, by ``acc`` where it is there (which
    no shaping of the reward has touched), else by ``score``; without either it is ungraded.

    Raises
    ------
    DataError: no file of that form, or a row that lacks what such dumps have.
    """
    files = in_order(path for path in folder.glob("*.jsonl") if path.stem.isdigit())
    if not files:
        raise DataError(f"{folder} holds no dump: expected files STEP.jsonl, as verl writes them.")
    return [_sampled(path, success_at) for path in files]


def _sampled(path: Path, success_at: float) -> Sampled:
    counts: dict[str, tuple[int, int]] = {}
    outputs: dict[str, list[str]] = {}
    ungraded, held_out = 0, False
    for number, row in read_rows(path, "jsonl", Damage(), skip_broken=False):
        if "input" not in row or "output" not in row:
            raise DataError(f"{path} line {number} has no input and output; is it verl's dump?")
        held_out = held_out or "reward" in row
        prompt = _prompt(row)
        outputs.setdefault(prompt, []).append(str(row["output"]))
        score = row.get("acc", row.get("score"))
        n, c = counts.get(prompt, (0, 0))
        if isinstance(score, int | float) and score == score:  # noqa: PLR0124 - NaN is no score
            counts[prompt] = (n + 1, c + (score >= success_at))
        else:
            counts[prompt], ungraded = (n, c), ungraded + 1
    return Sampled(
        step=int(path.stem), held_out=held_out, counts=counts, outputs=outputs, ungraded=ungraded
    )


def _prompt(row: Mapping[str, Any]) -> str:
    uid = row.get("uid")
    if isinstance(uid, str) and uid.count("_") >= 2:
        return uid.rsplit("_", 2)[0]
    truth = row.get("gts")
    return str(row["input"]) if truth is None else f"{row['input']}\n{truth}"
