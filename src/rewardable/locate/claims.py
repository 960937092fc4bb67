"""From intervals to the rows of tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rewardable.metrics import Interval
from rewardable.results import Estimate, Label, Row


def claim(
    found: Interval, *, n_prompts: int, n_graded: int = 0, warnings: tuple[str, ...] = ()
) -> Estimate:
    """Return an interval as an estimate; what is not finite becomes None."""
    return Estimate(
        value=_finite(found.mean),
        low=_finite(found.low),
        high=_finite(found.high),
        level=found.level,
        method=found.method,
        n_prompts=n_prompts,
        n_graded=n_graded,
        warnings=(*found.warnings, *warnings),
    )


def left_out(kept: int, n_prompts: int) -> tuple[str, ...]:
    """Return the warning that prompts are left out, where some are."""
    if kept == n_prompts:
        return ()
    return (f"{n_prompts - kept} of {n_prompts} prompts left out: too few graded rollouts",)


def row(labels: Mapping[str, Label], estimate: Estimate, **more: Label) -> Row:
    """Return a row whose labels are ``labels`` and ``more``."""
    return Row(labels={**labels, **more}, estimate=estimate)


def plain(value: float, *, method: str, n_prompts: int = 0, n_graded: int = 0) -> Estimate:
    """Return a number that carries no interval, saying how it was made."""
    return Estimate(value=_finite(value), method=method, n_prompts=n_prompts, n_graded=n_graded)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
