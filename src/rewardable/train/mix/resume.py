"""What the mixed parts need to go on, kept beside each checkpoint."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback


class MixState(TrainerCallback):
    """Writes ``mix-<process>.json`` into every checkpoint and reads it when a run goes on."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = tuple(parts)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Write the state of every part."""
        content = {part.name: part.state() for part in self._parts}
        path = _path(args, state)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Restore every part where the run goes on from a checkpoint."""
        if not state.global_step:
            return
        path = _path(args, state)
        if not path.is_file():
            warnings.warn(
                f"no {path}: what is mixed in starts anew (the checkpoint is older than the "
                "mixing, or the run had other processes).",
                stacklevel=2,
            )
            return
        content = json.loads(path.read_text(encoding="utf-8"))
        for part in self._parts:
            if part.name in content:
                part.restore(content[part.name])


def _path(args: Any, state: Any) -> Path:
    folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
    return folder / f"mix-{args.process_index}.json"
