"""What the guard saw and decided, kept in the run folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewardable.guard import Decision, Observation
from rewardable.guard.record import line_of
from rewardable.train.guarding import DECISIONS, OBSERVATIONS
from rewardable.train.logs.rows import MetricsFile


class Diary:
    """``guard.jsonl``: every observation, to be judged again; ``guard-decisions.jsonl``: what was
    said and done. A run that goes on drops the lines of steps that it does again.
    """

    def __init__(self, out: Path) -> None:
        self._seen, self._said = MetricsFile(out / OBSERVATIONS), MetricsFile(out / DECISIONS)

    def begin(self, step: int) -> None:
        """Drop what was written of steps after ``step``."""
        self._seen.start(step)
        self._said.start(step)

    def note(self, seen: Observation, decision: Decision, done: tuple[str, ...]) -> None:
        """Write one observation, and its decision where it speaks or has a notice."""
        self._seen.append([json.loads(line_of(seen))])
        if decision.speaks or decision.notices:
            self._said.append([{**decision.to_dict(), "done": list(done)}])

    def close(self, cost: Mapping[str, float], postponed: int, failed: str) -> None:
        """Write what the guard cost, and whether it failed."""
        closing: dict[str, Any] = {**cost, "looks_postponed": postponed, "failed": failed}
        last = max((int(row.get("step", 0)) for row in self._seen.rows()), default=0)
        self._said.append([{"step": last, "closing": True, **closing}])
