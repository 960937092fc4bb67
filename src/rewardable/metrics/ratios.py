"""Intervals of ratios of means (Fieller's way) and of smooth functions of means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rewardable.errors import ConfigError, DataError
from rewardable.metrics.bounds import betting_rejects
from rewardable.metrics.checks import Floats, finite_vector, level_alpha, refuse
from rewardable.metrics.intervals import Interval, interval_of
from rewardable.metrics.skewt import skew_t
from rewardable.metrics.units import make_units, trusted

_STEPS = 22
_WIDEST = 1e6


def ratio_interval(
    over_P: ArrayLike,
    under_P: ArrayLike,
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    span: tuple[float, float] = (0.0, np.inf),
) -> Interval:
    """Return mean(over) / mean(under) with its interval; both on the same prompts.

    Parameters
    ----------
    over_P, under_P: per-prompt values, shape [P], row i of both about one prompt.
    level, clusters: as in :func:`mean_interval`.
    bounds: range of both values.
    span: values that the ratio can take.

    Returns
    -------
    Interval; NaN throughout where the denominator is 0 on every prompt. An infinite end says that
    the denominator may be 0.

    Raises
    ------
    DataError: vectors of different length, NaN or empty; names the rows.

    What it measures
    ----------------
    Relative change ("support@64 is 0.9 of what it was"), retention, discovery.

    Estimand and assumptions
    ------------------------
    E[over] / E[under] over the population of prompts. A ratio t is kept when the interval of the
    mean of over - t x under holds 0 (Fieller), so no linearisation is needed and few informative
    prompts fall back to the bound of :func:`mean_interval`.

    When it misleads
    ----------------
    It is the ratio of means, not the mean of ratios. With a denominator near 0 it says little.

    Example
    -------
    >>> found = ratio_interval([0.5] * 20 + [0.4] * 20, [1.0] * 40)
    >>> round(found.mean, 3), found.low < 0.45 < found.high
    (0.45, True)

    Source
    ------
    Fieller 1954.
    """
    over, under = finite_vector(over_P, "over_P"), finite_vector(under_P, "under_P")
    if over.shape != under.shape:
        raise DataError(f"over_P has {over.size} prompts, under_P {under.size}; pair them.")
    level_alpha(level)
    base = under.mean()
    if base == 0:
        why = "the denominator is 0 on every prompt: the ratio is undefined"
        return Interval(
            mean=np.nan, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
        )

    def sides(t: float) -> Interval:
        return scaled_difference(over, under, t, level=level, clusters=clusters, bounds=bounds)

    value = float(over.mean() / base)
    test = sides if clusters is not None else _quick_sides(over, under, level, bounds)
    low = find_edge(lambda t: test(t).low > 0, span[0], value)
    high = find_edge(lambda t: test(t).high < 0, min(span[1], _WIDEST), value)
    middle = sides(value)
    return Interval(
        mean=value,
        low=low,
        high=np.inf if high >= _WIDEST else high,
        level=level,
        method=f"ratio of means by inversion (Fieller); {middle.method}",
        warnings=middle.warnings,
    )


@dataclass(frozen=True, kw_only=True)
class _Side:
    """An interval of which only the side of 0 counts."""

    low: float
    high: float


def scaled_difference(
    over: Floats,
    under: Floats,
    t: float,
    *,
    level: float,
    clusters: ArrayLike | None,
    bounds: tuple[float, float],
) -> Interval:
    """Return the interval of the mean of over - t x under; t is a possible ratio if it holds 0."""
    corners = [x - t * y for x in bounds for y in bounds]
    reach = (min(corners), max(corners))
    return interval_of(over - t * under, level, clusters, reach, probe=over)


def _quick_sides(
    over: Floats, under: Floats, level: float, bounds: tuple[float, float]
) -> Callable[[float], _Side]:
    """Return a test that says of a ratio t only on which side of 0 the interval lies.

    The same answer as :func:`scaled_difference` without searching for the ends of a bound.
    """
    sure = bool(trusted(make_units(over[:, None], None).residual_MK)[0])
    critical = float(ndtri((1 + level) / 2))

    def side(t: float) -> _Side:
        values = over - t * under
        units = make_units(values[:, None], None)
        if sure and trusted(units.residual_MK)[0]:
            low, high = skew_t(units.mean_K, units.residual_MK).ends(critical)
            return _Side(low=float(low[0]), high=float(high[0]))
        corners = [x - t * y for x in bounds for y in bounds]
        least, wide = min(corners), max(corners) - min(corners)
        scaled = np.clip((values - least) / wide, 0.0, 1.0)
        if not betting_rejects(scaled, -least / wide, 1 - level):
            return _Side(low=-1.0, high=1.0)
        return _Side(low=1.0, high=1.0) if values.mean() > 0 else _Side(low=-1.0, high=-1.0)

    return side


def find_edge(excluded: Callable[[float], bool], far: float, near: float) -> float:
    """Return where ``excluded`` begins between ``near`` (kept) and ``far``."""
    if not excluded(far):
        return far
    for _ in range(_STEPS * 2 if abs(far) > 100 else _STEPS):
        middle = (near + far) / 2
        near, far = (near, middle) if excluded(middle) else (middle, far)
    return far


def influence_interval(
    value: float,
    influence_P: Floats,
    *,
    level: float,
    clusters: ArrayLike | None,
    span: tuple[float, float],
    informative_P: Floats,
) -> Interval:
    """Return the interval of a smooth function of means from its influence values.

    ``influence_P`` are the first-order contributions of the prompts (mean 0); ``informative_P``
    decides whether enough prompts carry information: with fewer than 20 none is given.
    """
    if not span[0] < span[1]:
        raise ConfigError(f"span must be (low, high), got {span!r}.")
    units = make_units(influence_P[:, None], clusters)
    probe = make_units(informative_P[:, None], clusters)
    if not (trusted(units.residual_MK)[0] and trusted(probe.residual_MK)[0]):
        why = "fewer than 20 informative prompts: no interval is given"
        return Interval(
            mean=value, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
        )
    curve = skew_t(np.array([value]), units.residual_MK)
    low, high = curve.ends(float(ndtri((1 + level) / 2)))
    return Interval(
        mean=value,
        low=max(float(low[0]), span[0]),
        high=min(float(high[0]), span[1]),
        level=level,
        method=f"skewness-corrected t of influence values over {len(units.weight_M)} units",
    )


def ratio_of_means(over_P: ArrayLike, under_P: ArrayLike, *, level: float = 0.95) -> Interval:
    """Return mean(over) / mean(under) of positive values without an upper bound.

    Parameters
    ----------
    over_P, under_P: per-prompt values >= 0, shape [P], row i of both about one prompt.
    level: confidence.

    Returns
    -------
    Interval; NaN ends with fewer than 20 informative prompts, NaN throughout for a zero mean.

    Raises
    ------
    DataError: vectors of different length, negative, NaN or empty; names the rows.

    What it measures
    ----------------
    How many times larger one average is than another ("the log-prob change a token before the
    first operator is 10 times that after it").

    Estimand and assumptions
    ------------------------
    E[over] / E[under] over the population of prompts, prompts independent. The interval is that
    of the logarithm, from influence values over_i / mean(over) - under_i / mean(under).

    When it misleads
    ----------------
    A few prompts with huge values carry the mean. For values in [0, 1] use
    :func:`ratio_interval`, which also holds for few prompts.

    Example
    -------
    >>> found = ratio_of_means([2.0, 4.0] * 20, [1.0, 1.0] * 20)
    >>> round(found.mean, 3), found.low < 3 < found.high
    (3.0, True)

    Source
    ------
    The delta method on the log scale, with the interval of :func:`mean_interval`.
    """
    over, under = finite_vector(over_P, "over_P"), finite_vector(under_P, "under_P")
    if over.shape != under.shape:
        raise DataError(f"over_P has {over.size} prompts, under_P {under.size}; pair them.")
    refuse(over < 0, "over_P", over, ">= 0")
    refuse(under < 0, "under_P", under, ">= 0")
    top, base = over.mean(), under.mean()
    if top == 0 or base == 0:
        why = "a mean is 0: the ratio has no logarithm"
        value = float(top / base) if base else np.nan
        return Interval(
            mean=value, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
        )
    logs = influence_interval(
        float(np.log(top / base)),
        over / top - under / base,
        level=level,
        clusters=None,
        span=(-np.inf, np.inf),
        informative_P=over,
    )
    ends = (float(np.exp(one)) for one in (logs.mean, logs.low, logs.high))
    return replace(logs, **dict(zip(("mean", "low", "high"), ends, strict=True)))
