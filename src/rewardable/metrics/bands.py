"""Bands over a whole curve of budgets: simultaneous (sup-t) and pointwise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from rewardable.errors import DataError
from rewardable.metrics.checks import Bools, Floats, level_alpha, refuse, whole
from rewardable.metrics.intervals import Band, bounded_ends, difference_bounds
from rewardable.metrics.skewt import SkewT, skew_t
from rewardable.metrics.units import Bounds, Units, make_units, resolve_bounds, trusted

_SKETCH = 48
_CELLS = 1 << 22
_CONSERVATIVE_SHARE = 0.2


def curve_band(
    values_PK: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 4000,
    clusters: ArrayLike | None = None,
    bounds: Bounds = "auto",
) -> Band:
    """Return the mean curve over prompts with a band that holds for all K columns at once.

    Parameters
    ----------
    values_PK: unbiased per-prompt values, one column a budget, shape [P, K]. NaN marks undefined
        (n < k): a column with any NaN is undefined as a whole and a warning names the prompts.
    level: confidence, of the simultaneous band and of the pointwise ends each.
    seed: seed of the multiplier draws.
    draws: number of multiplier draws.
    clusters: a label per prompt, as in :func:`mean_interval`.
    bounds: range of the values, as in :func:`mean_interval`.

    Returns
    -------
    Band; ``conservative_K`` marks columns with fewer than 20 informative prompts, whose ends come
    from a bound valid at any sample size (columns without any spread among them).

    Raises
    ------
    DataError: an array that is not [P, K] or holds infinities; names the rows.
    ConfigError: a level outside (0, 1), fewer than 100 draws.

    What it measures
    ----------------
    Where the whole curve may lie: any statement about any of its budgets holds at the level.

    Estimand and assumptions
    ------------------------
    The mean curve over the population of prompts; prompts (or clusters) independent.

    When it misleads
    ----------------
    It covers the columns given and no budget between or beyond them, prompts and samples but not
    training seeds.

    Example
    -------
    >>> values_PK = np.random.default_rng(0).random((50, 3))
    >>> band = curve_band(values_PK)
    >>> bool((band.low_K < band.pointwise_low_K).all())
    True

    Source
    ------
    Gaussian multiplier bootstrap of the largest t (Chernozhukov, Chetverikov and Kato 2013) for the
    critical value; Hall 1992 for the ends; betting bounds shared out by Bonferroni where few
    prompts are informative.
    """
    values = _matrix(values_PK, "values_PK")
    known = resolve_bounds(values[np.isfinite(values)], bounds)
    return _band(values, level, seed, draws, clusters, known)


def paired_band(
    a_PK: ArrayLike,
    b_PK: ArrayLike,
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 4000,
    clusters: ArrayLike | None = None,
    bounds: Bounds = "auto",
) -> Band:
    """Return the mean curve of ``b_PK - a_PK`` with a band that holds for all K columns at once.

    Parameters
    ----------
    a_PK, b_PK: per-prompt curves before and after on the same prompts, shape [P, K].
    level, seed, draws, clusters: as in :func:`curve_band`.
    bounds: range of the values themselves, as in :func:`mean_interval`.

    Returns
    -------
    Band of the difference, positive where ``b`` is larger.

    Raises
    ------
    DataError: arrays of different shape, or infinities; names the rows.

    What it measures
    ----------------
    At which budgets one policy is better than the other, as one statement about all budgets.

    Estimand and assumptions
    ------------------------
    Mean difference curve over the population of prompts; see :func:`curve_band`.

    When it misleads
    ----------------
    A column in which no prompt differs has no spread: it is widened to what the number of prompts
    allows and never certifies anything. Read off crossings with :func:`crossing`, not by eye.

    Example
    -------
    >>> rng = np.random.default_rng(0)
    >>> before_PK = rng.random((60, 2))
    >>> band = paired_band(before_PK, before_PK - [0.3, 0.0] * rng.random((60, 1)))
    >>> bool(band.high_K[0] < 0), bool(band.conservative_K[1])
    (True, True)

    Source
    ------
    As :func:`curve_band`, applied to differences by prompt.
    """
    a, b = _matrix(a_PK, "a_PK"), _matrix(b_PK, "b_PK")
    if a.shape != b.shape:
        raise DataError(f"a_PK is {a.shape}, b_PK is {b.shape}; pair them by prompt and budget.")
    known = difference_bounds(a[np.isfinite(a)], b[np.isfinite(b)], bounds)
    return _band(b - a, level, seed, draws, clusters, known)


def _matrix(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{name} must be [prompts, budgets] and not empty, got {array.shape}.")
    refuse(np.asarray(np.isinf(array).any(axis=1)), name, array, "finite, or NaN for undefined")
    return array


def _band(
    values: Floats,
    level: float,
    seed: int,
    draws: int,
    clusters: ArrayLike | None,
    bounds: tuple[float, float] | None,
) -> Band:
    alpha = level_alpha(level)
    whole(draws, "draws", 100)
    defined: Bools = np.asarray(~np.isnan(values).any(axis=0))
    units = make_units(np.where(defined, values, 0.0), clusters)
    sure = defined & trusted(units.residual_MK)
    few = defined & ~sure
    parts = _alpha_parts(alpha, bool(sure.any()), int(few.sum()))
    residual = units.residual_MK[:, sure]
    critical = _sup_t(residual, parts[0], seed, draws) if sure.any() else np.nan
    curve = skew_t(units.mean_K[sure], residual)
    wide = _ends(units, curve, sure, few, bounds, critical, parts[1])
    point = _ends(units, curve, sure, few, bounds, float(ndtri(1 - alpha / 2)), alpha)
    return Band(
        mean_K=np.where(defined, units.mean_K, np.nan),
        low_K=np.minimum(wide[0], point[0]),
        high_K=np.maximum(wide[1], point[1]),
        pointwise_low_K=point[0],
        pointwise_high_K=point[1],
        conservative_K=few,
        level=level,
        critical=critical,
        method=_method(units, clusters, draws, seed, bool(few.any())),
        warnings=_warnings(values, defined, few, bounds),
    )


def _alpha_parts(alpha: float, some_sure: bool, n_few: int) -> tuple[float, float]:
    """Share the error between the sup-t columns and the conservative ones (Bonferroni)."""
    if n_few == 0:
        return alpha, alpha
    share = _CONSERVATIVE_SHARE if some_sure else 1.0
    return alpha * (1 - share), alpha * share / n_few


def _ends(
    units: Units,
    curve: SkewT,
    sure: Bools,
    few: Bools,
    bounds: tuple[float, float] | None,
    critical: float,
    alpha_few: float,
) -> tuple[Floats, Floats]:
    low, high = np.full(sure.shape, np.nan), np.full(sure.shape, np.nan)
    if sure.any():
        low[sure], high[sure] = curve.ends(critical)
    if few.any() and bounds is not None:
        low[few], high[few] = bounded_ends(units, few, bounds, alpha_few)
    if bounds is None:
        return low, high
    return np.clip(low, *bounds), np.clip(high, *bounds)


def _sup_t(residual_MK: Floats, alpha: float, seed: int, draws: int) -> float:
    """Return the 1 - alpha quantile of max over columns of |t| under Gaussian multipliers."""
    norm = np.sqrt((residual_MK**2).sum(0))
    rows_RK = _compressed_rows(residual_MK / norm)
    rng = np.random.default_rng(seed)
    largest = np.empty(draws)
    batch = max(1, _CELLS // residual_MK.shape[1])
    for at in range(0, draws, batch):
        stop = min(at + batch, draws)
        t_BK = rng.standard_normal((stop - at, rows_RK.shape[0])) @ rows_RK
        largest[at:stop] = np.maximum(t_BK.max(axis=1), -t_BK.min(axis=1))
    return float(np.quantile(largest, 1 - alpha))


def _compressed_rows(unit_MK: Floats) -> Floats:
    """Return few rows with the same Gram matrix: budget curves are smooth, their rank is small.

    A Gaussian sum over M prompts has the law of a Gaussian sum over an orthonormal basis. Falls
    back to the rows as they are when the basis leaves more than 1e-6 of any column out.
    """
    if min(unit_MK.shape) <= _SKETCH:
        return unit_MK if unit_MK.shape[0] <= unit_MK.shape[1] else _triangular(unit_MK)
    probe = np.random.default_rng(0).standard_normal((unit_MK.shape[1], _SKETCH))
    basis_MR = np.linalg.qr(unit_MK @ probe)[0]
    rows_RK = basis_MR.T @ unit_MK
    left_out = 1.0 - (rows_RK**2).sum(0)
    return rows_RK if left_out.max() < 1e-6 else unit_MK


def _triangular(unit_MK: Floats) -> Floats:
    return np.linalg.qr(unit_MK)[1]


def _method(units: Units, clusters: ArrayLike | None, draws: int, seed: int, some_few: bool) -> str:
    kind = "clusters" if clusters is not None else "prompts"
    text = (
        f"skewness-corrected sup-t band over {len(units.weight_M)} {kind}, "
        f"{draws} Gaussian multiplier draws, seed {seed}"
    )
    return text + ("; betting bounds where few are informative" if some_few else "")


def _warnings(
    values: Floats, defined: Bools, few: Bools, bounds: tuple[float, float] | None
) -> tuple[str, ...]:
    found: list[str] = []
    if not defined.all():
        lacking = np.isnan(values).any(axis=1)
        found.append(
            f"{int((~defined).sum())} columns are undefined: {int(lacking.sum())} prompts have "
            f"fewer rollouts than the budget (prompts {np.flatnonzero(lacking)[:8].tolist()})"
        )
    if few.any():
        how = "widened to a bound valid at any sample size" if bounds else "left without interval"
        found.append(f"{int(few.sum())} columns with too few informative prompts are {how}")
    return tuple(found)
