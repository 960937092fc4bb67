"""A number that is followed along a run: its level at the start and its smoothed level now."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """start: mean of the first values, None before there are enough. smooth: moving average."""

    start: float | None = None
    smooth: float | None = None
    seen: int = 0
    total: float = 0.0

    def anew(self) -> Level:
        """Return the level with now as its start; before it has one, itself."""
        return self if self.start is None else replace(self, start=self.smooth)


def observe(level: Level, value: float | None, baseline: int, window: int) -> Level:
    """Return the level after one more value; None and NaN change nothing.

    The average weighs a value of j steps ago by (1 - 2 / (window + 1)) ** j. It begins at the
    mean of the first ``baseline`` values, so that one odd first step is not what all later ones
    are compared with.
    """
    if value is None or math.isnan(value):
        return level
    seen, total = level.seen + 1, level.total + value
    if seen <= baseline:
        begun = total / baseline if seen == baseline else None
        return Level(start=begun, smooth=total / seen, seen=seen, total=total)
    assert level.smooth is not None
    weight = 2.0 / (window + 1.0)
    return replace(level, smooth=level.smooth + weight * (value - level.smooth), seen=seen)
