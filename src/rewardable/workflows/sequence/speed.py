"""How fast a stage learned, read off the rewards of its steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAMES = ("reward/raw", "reward")


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """first, last: mean reward of the first and last ``window`` steps. half_steps: see below."""

    first: float
    last: float
    half_steps: int | None


def learning_speed(rewards: Sequence[float], window: int = 5) -> Speed:
    """Return when the running mean over ``window`` steps has made half of the stage's gain.

    ``half_steps`` is the number of steps taken by then; None where nothing was gained. ``window``
    is at most half of the steps.

    >>> learning_speed([0.0, 0.0, 0.2, 0.8, 1.0, 1.0], window=2)
    Speed(first=0.0, last=1.0, half_steps=4)
    """
    width = max(1, min(window, len(rewards) // 2))
    means = [sum(rewards[i : i + width]) / width for i in range(len(rewards) - width + 1)]
    first, last = means[0], means[-1]
    if last <= first:
        return Speed(first=first, last=last, half_steps=None)
    aim = first + (last - first) / 2
    reached = next(i for i, mean in enumerate(means) if mean >= aim)
    return Speed(first=first, last=last, half_steps=reached + width)


def reward_series(path: Path) -> list[float]:
    """Return the raw reward of each step of a ``metrics.jsonl``; [] where there is none."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    rows: list[Mapping[str, Any]] = [json.loads(line) for line in lines if line.strip()]
    steps = [row for row in rows if row.get("kind", "train") == "train"]
    name = next((name for name in NAMES if any(name in row for row in steps)), "")
    return [float(row[name]) for row in steps if row.get(name) is not None]
