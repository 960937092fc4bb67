"""Polarisation: how far the prompts are pushed towards always and never."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, Ints, counts, level_alpha, refuse
from rewardable.metrics.intervals import Interval
from rewardable.metrics.ratios import influence_interval


def polarisation(
    n_P: ArrayLike, c_P: ArrayLike, *, level: float = 0.95, clusters: ArrayLike | None = None
) -> Interval:
    """Estimate 1 - E[p(1-p)] / (pbar (1 - pbar)) with its interval.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P], at least 2 each; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    level, clusters: as in :func:`mean_interval`.

    Returns
    -------
    Interval; NaN where pbar (1 - pbar) is estimated as 0 or less (nothing or everything solved).

    Raises
    ------
    DataError: unusable counts, fewer than 2 rollouts or prompts; names the rows.

    What it measures
    ----------------
    0 when all prompts are equally hard, 1 when every prompt is always or never solved.

    Estimand and assumptions
    ------------------------
    The share of the variance of a single verdict that lies between prompts. Numerator by
    c(n-c) / (n(n-1)) per prompt, denominator by the pairs of different prompts: both unbiased, so
    their ratio is consistent in the number of prompts. Rollouts independent, n fixed.

    When it misleads
    ----------------
    It rises when prompts become never-solved as much as when they become always-solved: read it
    beside pass@1 and transitions. At finite n it cannot tell p = 0 from p = 0.001.

    Example
    -------
    >>> round(polarisation([8] * 40, [0, 8] * 20).mean, 3)
    1.0

    Source
    ------
    Intraclass correlation of binary data (Fleiss and Cuzick 1979), prompts as classes.
    """
    level_alpha(level)
    value, influence, x = _parts(*_checked(n_P, c_P))
    if np.isnan(value):
        return _undefined(level)
    return influence_interval(
        value, influence, level=level, clusters=clusters, span=(-1.0, 1.0), informative_P=x
    )


def polarisation_change(
    n_before_P: ArrayLike,
    c_before_P: ArrayLike,
    n_after_P: ArrayLike,
    c_after_P: ArrayLike,
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Estimate polarisation after minus before, paired by prompt, with its interval.

    Parameters
    ----------
    n_before_P, c_before_P, n_after_P, c_after_P: counts of both policies, shape [P], row i of all
        about one prompt.
    level, clusters: as in :func:`mean_interval`.

    Returns
    -------
    Interval of the difference; NaN where either is undefined.

    Raises
    ------
    DataError: unusable counts or vectors of different length; names the rows.

    What it measures
    ----------------
    Whether training pushed prompts towards always and never.

    Estimand and assumptions
    ------------------------
    As :func:`polarisation`, difference of two; the shared prompts are accounted for.

    When it misleads
    ----------------
    As :func:`polarisation`.

    Example
    -------
    >>> found = polarisation_change([8] * 40, [4] * 40, [8] * 40, [0, 8] * 20)
    >>> found.mean > 0.9
    True

    Source
    ------
    As :func:`polarisation`.
    """
    level_alpha(level)
    before, after = _checked(n_before_P, c_before_P), _checked(n_after_P, c_after_P)
    if before[0].shape != after[0].shape:
        raise DataError(f"{before[0].size} prompts before, {after[0].size} after; pair them.")
    first, second = _parts(*before), _parts(*after)
    value = second[0] - first[0]
    if np.isnan(value):
        return _undefined(level)
    return influence_interval(
        value,
        second[1] - first[1],
        level=level,
        clusters=clusters,
        span=(-2.0, 2.0),
        informative_P=first[2] + second[2],
    )


def _checked(n_P: ArrayLike, c_P: ArrayLike) -> tuple[Ints, Ints]:
    n, c = counts(n_P, c_P)
    refuse(n < 2, "n", n, ">= 2 for polarisation")
    if n.size < 2:
        raise DataError("polarisation needs at least 2 prompts, got 1.")
    return n, c


def _parts(n: Ints, c: Ints) -> tuple[float, Floats, Floats]:
    """Return the estimate, the influence value of every prompt, and p(1-p) of every prompt."""
    y = c / n
    x = y * (n - c) / (n - 1)
    size, mean = y.size, float(y.mean())
    square = float((y.sum() ** 2 - (y * y).sum()) / (size * (size - 1)))
    spread = mean - square
    if spread <= 0:
        return float("nan"), y, x
    ratio = float(x.mean()) / spread
    influence = -(x - x.mean()) / spread + ratio * (1 - 2 * mean) * (y - mean) / spread
    return 1.0 - ratio, influence, x


def _undefined(level: float) -> Interval:
    why = "nothing or everything is solved: polarisation is undefined"
    return Interval(
        mean=np.nan, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
    )
