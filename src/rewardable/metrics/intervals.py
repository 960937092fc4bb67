"""Intervals of a mean over prompts, of one policy or paired between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rewardable.errors import DataError
from rewardable.metrics.bounds import all_binary, betting_interval, binary_interval
from rewardable.metrics.checks import Floats, finite_vector, level_alpha, whole
from rewardable.metrics.skewt import skew_t
from rewardable.metrics.units import (
    LEAST_INFORMATIVE,
    Bounds,
    Units,
    informative,
    make_units,
    resolve_bounds,
    trusted,
)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its interval. NaN ends mean that none can be given; warnings say why."""

    mean: float
    low: float
    high: float
    level: float
    method: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """A curve over K budgets with a band that holds for all of them at once.

    mean_K: the curve; NaN where it is undefined for some prompt.
    low_K, high_K: simultaneous over the K columns. NaN where nothing can be said.
    pointwise_low_K, pointwise_high_K: for each column on its own.
    conservative_K: columns whose ends come from a bound that holds at any sample size.
    """

    mean_K: NDArray[np.float64]
    low_K: NDArray[np.float64]
    high_K: NDArray[np.float64]
    pointwise_low_K: NDArray[np.float64]
    pointwise_high_K: NDArray[np.float64]
    conservative_K: NDArray[np.bool_]
    level: float
    critical: float
    method: str
    warnings: tuple[str, ...] = ()


def mean_interval(
    values_P: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 4000,
    clusters: ArrayLike | None = None,
    bounds: Bounds = "auto",
) -> Interval:
    """Return the mean of per-prompt values with its interval over the population of prompts.

    Parameters
    ----------
    values_P: unbiased per-prompt values (pass@k, coverage, trainability...), shape [P], finite.
    level: confidence.
    seed, draws: the options of :func:`curve_band`, accepted so that one set of options serves
        both; this interval is computed without random draws.
    clusters: a label per prompt, shape [P]; prompts of one cluster depend on each other (several
        prompts made from one source problem) and are averaged into one unit.
    bounds: range of the values: (low, high), ``None`` for unknown, or ``"auto"``: (0, 1) when all
        values lie there, else unknown.

    Returns
    -------
    Interval with ``method`` and ``warnings`` in words.

    Raises
    ------
    DataError: NaN, infinite or empty values, clusters of another length; names the rows.
    ConfigError: a level outside (0, 1), bounds that are no range.

    What it measures
    ----------------
    How far the average would move with other prompts of the same kind and other rollouts.

    Estimand and assumptions
    ------------------------
    The mean over the population that the prompts were drawn from, prompts (or clusters)
    independent. Unbiased per-prompt values vary with the prompt and with the sampling inside it,
    so their spread between prompts already holds both sources of noise: nothing is added. For
    the mean over exactly these prompts use :func:`fixed_prompts_interval`.

    When it misleads
    ----------------
    It does not cover training seeds, nor prompts that were chosen because of their result. With
    fewer than 20 informative prompts the ends come from a bound for bounded values that is valid
    at any size and wide; without known bounds none is given.

    Example
    -------
    >>> zero = mean_interval(np.zeros(40))
    >>> round(zero.low, 4), round(zero.high, 4), zero.method
    (0.0, 0.0881, 'exact binomial (Clopper-Pearson)')

    Source
    ------
    Hall 1992 (skewness-corrected Student t); Clopper and Pearson 1934; Waudby-Smith and Ramdas
    2024 (betting bounds for bounded means).
    """
    values = finite_vector(values_P, "values_P")
    _check_options(level, seed, draws)
    return interval_of(values, level, clusters, resolve_bounds(values, bounds))


def paired_interval(
    a_P: ArrayLike,
    b_P: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 4000,
    clusters: ArrayLike | None = None,
    bounds: Bounds = "auto",
) -> Interval:
    """Return the mean of ``b_P - a_P`` with its interval; both on the same prompts.

    Parameters
    ----------
    a_P, b_P: per-prompt values before and after, shape [P], row i of both about one prompt.
    level, seed, draws, clusters: as in :func:`mean_interval`.
    bounds: range of the values themselves (not of the difference), as in :func:`mean_interval`.

    Returns
    -------
    Interval of the mean difference, positive where ``b`` is larger.

    Raises
    ------
    DataError: vectors of different length, NaN, infinite or empty; names the rows.

    What it measures
    ----------------
    The change between two policies, with what both share by prompt taken out.

    Estimand and assumptions
    ------------------------
    Mean over the population of prompts of the difference; rollouts of the two policies are
    independent given the prompt. See :func:`mean_interval`.

    When it misleads
    ----------------
    Identical counts in both do not prove that nothing changed: the interval then is the bound
    that the number of prompts allows, never [0, 0]. Unpaired sets of prompts must not be forced
    into pairs.

    Example
    -------
    >>> same = paired_interval(np.zeros(30), np.zeros(30))
    >>> same.low < -0.1 < 0.1 < same.high
    True

    Source
    ------
    As :func:`mean_interval`, applied to differences.
    """
    a, b = finite_vector(a_P, "a_P"), finite_vector(b_P, "b_P")
    if a.shape != b.shape:
        raise DataError(f"a_P has {a.size} prompts, b_P has {b.size}; pair them by prompt key.")
    _check_options(level, seed, draws)
    return interval_of(b - a, level, clusters, difference_bounds(a, b, bounds))


def difference_bounds(a: Floats, b: Floats, bounds: Bounds) -> tuple[float, float] | None:
    """Return the range of b - a from the range of the values."""
    both = np.concatenate([a, b])
    known = resolve_bounds(both, bounds)
    return None if known is None else (known[0] - known[1], known[1] - known[0])


def _check_options(level: float, seed: int, draws: int) -> None:
    level_alpha(level)
    whole(seed, "seed", 0)
    whole(draws, "draws", 1)


def interval_of(
    values: Floats,
    level: float,
    clusters: ArrayLike | None,
    bounds: tuple[float, float] | None,
    probe: Floats | None = None,
) -> Interval:
    """Return the interval of the mean of checked values, by the method that their spread allows.

    ``probe``: further values that must show enough informative prompts too, so that a tail that
    was not seen by chance does not pass for certainty.
    """
    units = make_units(values[:, None], clusters)
    sure = probe is None or bool(trusted(make_units(probe[:, None], clusters).residual_MK)[0])
    kind = "clusters" if clusters is not None else "prompts"
    alpha = 1 - level
    mean = float(units.mean_K[0])
    if sure and trusted(units.residual_MK)[0]:
        low, high = skew_t(units.mean_K, units.residual_MK).ends(float(ndtri(1 - alpha / 2)))
        ends = clip_ends(float(low[0]), float(high[0]), bounds)
        method = f"skewness-corrected t over {len(units.weight_M)} {kind}"
        return _made(mean, ends, level, method, ())
    few = few_text(float(informative(units.residual_MK)[0][0]), kind)
    if bounds is None:
        return _unbounded(units, mean, level, few)
    if clusters is None and bounds == (0.0, 1.0) and all_binary(values):
        return _made(mean, binary_interval(values, alpha), level, EXACT, ())
    low, high = bounded_ends(units, np.array([True]), bounds, alpha)
    return _made(mean, (float(low[0]), float(high[0])), level, BETTING, (few,))


EXACT = "exact binomial (Clopper-Pearson)"
BETTING = "betting bound for bounded means, valid at any sample size"


def few_text(count: float, kind: str = "prompts") -> str:
    """Say that too few units are informative for a large-sample interval."""
    return (
        f"only {count:.0f} informative {kind} (fewer than {LEAST_INFORMATIVE}, or a few carry the "
        "variance): the interval is a conservative bound"
    )


def bounded_ends(
    units: Units, columns: NDArray[np.bool_], bounds: tuple[float, float], alpha: float
) -> tuple[Floats, Floats]:
    """Return betting bounds of the chosen columns, each at confidence 1 - alpha."""
    low, high = bounds
    scaled = np.clip((units.value_MK[:, columns] - low) / (high - low), 0.0, 1.0)
    ends = betting_interval(scaled, units.weight_M, alpha)
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def clip_ends(low: float, high: float, bounds: tuple[float, float] | None) -> tuple[float, float]:
    """Keep the ends within the known range of the values."""
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def _unbounded(units: Units, mean: float, level: float, few: str) -> Interval:
    residual = units.residual_MK
    if residual.shape[0] < 3 or not residual.any():
        why = "no spread between prompts and no known bounds: no interval can be given"
        return _made(mean, (np.nan, np.nan), level, "none", (why,))
    low, high = skew_t(units.mean_K, residual).ends(float(ndtri((1 + level) / 2)))
    why = few.replace("the interval is a conservative bound", "the interval may be too narrow")
    ends = (float(low[0]), float(high[0]))
    return _made(mean, ends, level, "skewness-corrected t, too few prompts", (why,))


def _made(
    mean: float, ends: tuple[float, float], level: float, method: str, warnings: tuple[str, ...]
) -> Interval:
    return Interval(
        mean=mean, low=ends[0], high=ends[1], level=level, method=method, warnings=warnings
    )
