"""Polarisation: how far the prompts are pushed towards always and never."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rewardable.errors import DataError
from rewardable.metrics.bounds import betting_rejects
from rewardable.metrics.checks import Floats, Ints, counts, level_alpha, refuse
from rewardable.metrics.intervals import Interval, few_text
from rewardable.metrics.ratios import find_edge
from rewardable.metrics.skewt import skew_t
from rewardable.metrics.units import informative, make_units, trusted


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
    With fewer than 20 informative prompts the ends come from disjoint pairs of prompts in the
    order given (row i with row i + P/2): valid at any size, and wide.

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
    return _within(_single(*_checked(n_P, c_P), level, clusters))


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
    first, second = _single(*before, level, clusters), _single(*after, level, clusters)
    shared = _correlation(_moments(*before), _moments(*after), clusters)
    low, high = difference_ends(first, second, shared)
    # Where a bound is much too wide, the range of polarisation says more than the combination.
    wide = SMALL in (first.method, second.method)
    least, most = (-first.high, second.high) if wide else (-1.0, 1.0)
    return Interval(
        mean=second.mean - first.mean,
        low=max(low, least, -1.0),
        high=min(high, most, 1.0),
        level=level,
        method=f"difference of two intervals with correlation {shared:.2f} (Zou 2007)",
        warnings=tuple(dict.fromkeys((*first.warnings, *second.warnings))),
    )


def difference_ends(first: Interval, second: Interval, shared: float) -> tuple[float, float]:
    """Combine two intervals into one of second - first, given the correlation of the estimates."""

    def reach(a: float, b: float) -> float:
        return float(np.sqrt(max(a * a + b * b - 2 * shared * a * b, 0.0)))

    value = second.mean - first.mean
    low = value - reach(second.mean - second.low, first.high - first.mean)
    return low, value + reach(second.high - second.mean, first.mean - first.low)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moments:
    """Per prompt: success rate y and unbiased p(1-p), x."""

    x_P: Floats
    y_P: Floats

    def contrast(self, t: float) -> tuple[float, Floats]:
        """Return the estimate of E[x] - t (pbar - pbar^2) and its residuals, one a prompt.

        A U-statistic over pairs of different prompts; the residuals carry the jackknife's scale.
        """
        x, y = self.x_P, self.y_P
        size = x.size
        rest_x, rest_y = x.sum() - x, y.sum() - y
        pair = x / 2 + rest_x / (2 * (size - 1))
        spread = y / 2 + rest_y / (2 * (size - 1)) - y * rest_y / (size - 1)
        own = pair - t * spread
        value = float(own.mean())
        return value, 2 * (size - 1) / max(size - 2, 1) * (own - value)

    def ratio(self) -> float:
        """Return E[x] / (pbar - pbar^2); NaN where the denominator is not above 0."""
        above, below = self.contrast(0.0)[0], self.contrast(0.0)[0] - self.contrast(1.0)[0]
        return above / below if below > 0 else float("nan")


def _checked(n_P: ArrayLike, c_P: ArrayLike) -> tuple[Ints, Ints]:
    n, c = counts(n_P, c_P)
    refuse(n < 2, "n", n, ">= 2 for polarisation")
    if n.size < 2:
        raise DataError("polarisation needs at least 2 prompts, got 1.")
    return n, c


def _moments(n: Ints, c: Ints) -> _Moments:
    y = c / n
    return _Moments(x_P=y * (n - c) / (n - 1), y_P=y)


def _within(found: Interval) -> Interval:
    """Cut the ends to what polarisation can be."""
    low, high = max(found.low, min(found.mean, 0.0)), min(found.high, 1.0)
    return replace(found, low=low, high=high)


def _single(n: Ints, c: Ints, level: float, clusters: ArrayLike | None) -> Interval:
    moments = _moments(n, c)
    ratio = moments.ratio()
    if np.isnan(ratio):
        return _without(ratio, level, "nothing or everything is solved: polarisation is undefined")
    x, y = moments.x_P, moments.y_P
    # y - x and 1 - y - x are the unbiased p^2 and (1-p)^2: without two successes (or failures) in
    # enough prompts the spread between prompts cannot be seen.
    probes = [moments.contrast(ratio)[1], x, y - x, 1 - y - x]
    units = [make_units(probe[:, None], clusters) for probe in probes]
    sure = all(bool(trusted(unit.residual_MK)[0]) for unit in units)
    if not sure and clusters is not None:
        why = "fewer than 20 informative clusters: no interval is given"
        return _without(1 - ratio, level, why)
    test = _large_sample(moments, level, clusters) if sure else _any_size(moments, 1 - level)
    ends = sorted(1 - find_edge(test, far, ratio) for far in (0.0, max(1.0, 2 * ratio)))
    few = (few_text(min(float(informative(unit.residual_MK)[0][0]) for unit in units)),)
    return Interval(
        mean=1 - ratio,
        low=ends[0],
        high=ends[1],
        level=level,
        method=LARGE if sure else SMALL,
        warnings=() if sure else few,
    )


LARGE = "inversion of a skewness-corrected t of the pair contrast"
SMALL = "inversion of a betting bound over disjoint pairs of prompts, valid at any sample size"


def _large_sample(
    moments: _Moments, level: float, clusters: ArrayLike | None
) -> Callable[[float], bool]:
    critical = float(ndtri((1 + level) / 2))

    def excluded(t: float) -> bool:
        value, residual = moments.contrast(t)
        unit = make_units(residual[:, None], clusters)
        low, high = skew_t(np.array([value]), unit.residual_MK).ends(critical)
        return bool(low[0] > 0 or high[0] < 0)

    return excluded


def _any_size(moments: _Moments, alpha: float) -> Callable[[float], bool]:
    """Test the ratio on disjoint pairs: their contrasts are independent and bounded."""
    half = moments.x_P.size // 2
    x = (moments.x_P[:half] + moments.x_P[half : 2 * half]) / 2
    y, z = moments.y_P[:half], moments.y_P[half : 2 * half]
    spread = (y + z) / 2 - y * z

    def excluded(t: float) -> bool:
        low, high = -max(t, 1e-9) / 2, 0.5
        scaled = np.clip((x - t * spread - low) / (high - low), 0.0, 1.0)
        return betting_rejects(scaled, -low / (high - low), alpha)

    return excluded


def _correlation(before: _Moments, after: _Moments, clusters: ArrayLike | None) -> float:
    """Return the correlation of the two estimates that comes from sharing the prompts."""
    residuals = []
    for moments in (before, after):
        ratio = moments.ratio()
        residual = moments.contrast(0.0 if np.isnan(ratio) else ratio)[1]
        residuals.append(make_units(residual[:, None], clusters).residual_MK[:, 0])
    scale = float(np.sqrt((residuals[0] ** 2).sum() * (residuals[1] ** 2).sum()))
    return float(residuals[0] @ residuals[1]) / scale if scale > 0 else 0.0


def _without(ratio: float, level: float, why: str) -> Interval:
    return Interval(
        mean=ratio, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
    )
