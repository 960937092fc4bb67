"""The files of a training run: numbers of every step, disagreements, rollouts handed on."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from datasets import (
    Dataset,
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)

from rewardable.train.logs.metrics import StepMetrics
from rewardable.train.logs.recorder import flush_all
from rewardable.train.logs.rows import MetricsFile, Row

METRICS, DISAGREEMENTS = "metrics.jsonl", "disagreements.jsonl"
OnRow = Callable[[int, int, Mapping[str, float]], None]
"""Is told step, total steps and the numbers of a logged step."""


class LogBook:
    """A row a logged step in ``metrics.jsonl``; at checkpoints and the end ``metrics.parquet``.

    taps: whose disagreements are written down, and whose rollouts are handed on before every
    checkpoint. For one process, the main one. A row's kind is ``train``, ``eval``, or ``end`` for
    a trainer's closing line.
    """

    def __init__(self, out: Path, taps: Sequence[Any] = (), on_row: OnRow | None = None) -> None:
        self.metrics = MetricsFile(out / METRICS)
        self.disagreements = MetricsFile(out / DISAGREEMENTS)
        self._taps = tuple(taps)
        self._on_row = on_row
        self._told: tuple[Any, ...] = ()

    def begin(self, step: int) -> None:
        """Drop what a run that was cut off wrote of the steps that come after ``step``."""
        self.metrics.start(step)
        self.disagreements.start(step - 1)

    def note(self, step: int, total: int, logs: Mapping[str, Any]) -> None:
        """Write the numbers logged after ``step`` of ``total`` steps."""
        numbers = {name: float(v) for name, v in logs.items() if isinstance(v, int | float)}
        kind = _kind(numbers)
        self.metrics.append([{"step": step, "kind": kind, **numbers}])
        self._note_disagreements()
        if self._on_row is not None and kind == "train":
            finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
            self._on_row(step, total, finite)

    def hand_on(self) -> None:
        """Hand waiting rollouts on: before a checkpoint, behind which no later run draws them."""
        flush_all(self._taps)

    def save(self) -> None:
        """Hand waiting rollouts on, and bring the rows into columns."""
        self.hand_on()
        rows = self.metrics.rows()
        if rows:
            write_parquet(self.metrics.path.with_suffix(".parquet"), rows)

    def _note_disagreements(self) -> None:
        for tap in self._taps:
            if isinstance(tap, StepMetrics) and tap.disagreements is not self._told:
                self._told = tap.disagreements
                self.disagreements.append([asdict(row) for row in self._told])


def write_parquet(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as columns, those that a row lacks as null."""
    names = dict.fromkeys(name for row in rows for name in row)
    table = Dataset.from_dict({name: [row.get(name) for row in rows] for name in names})
    beside = path.with_name(f".tmp-{path.name}")
    with _without_bars():
        table.to_parquet(str(beside))
    beside.replace(path)


@contextmanager
def _without_bars() -> Generator[None]:
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


def _kind(numbers: Mapping[str, float]) -> str:
    if "train_runtime" in numbers:
        return "end"
    return "eval" if any(name.startswith("eval_") for name in numbers) else "train"
