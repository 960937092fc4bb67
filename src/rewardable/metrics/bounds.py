"""Bounds that hold at any sample size: exact binomial, and betting for bounded means."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from rewardable.metrics.checks import Floats, Ints, counts, level_alpha, whole

_SHARES = np.array([1.0, 2 / 3, 1 / 3, 0.0])
_HALVINGS = 20
_FEW_UNITS = 64


def zero_bound(n: int, level: float = 0.95) -> float:
    """Return the success probability that "0 of n" still allows.

    Parameters
    ----------
    n: graded rollouts without any success, at least 1.
    level: two-sided confidence; the bound is the upper end of the exact interval.

    Returns
    -------
    1 - ((1 - level) / 2) ** (1/n).

    Raises
    ------
    ConfigError: n below 1 or a level outside (0, 1).

    What it measures
    ----------------
    How often a prompt without a seen success may still succeed.

    Estimand and assumptions
    ------------------------
    An upper bound for p; independent rollouts, n fixed before sampling.

    When it misleads
    ----------------
    "Absent" never means impossible: 0 of 64 allows p up to 0.056. The bound is for one prompt;
    among many absent prompts a few lie above it.

    Example
    -------
    >>> round(zero_bound(64), 3), round(zero_bound(40), 3)
    (0.056, 0.088)

    Source
    ------
    Clopper and Pearson 1934; at level 0.95 one-sided the "rule of three", 3/n.
    """
    return float(-np.expm1(np.log(level_alpha(level) / 2) / whole(n, "n")))


def binomial_interval(n_P: ArrayLike, c_P: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the exact (Clopper-Pearson) interval of every prompt's success probability.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    level: two-sided confidence.

    Returns
    -------
    (low_P, high_P), float64; (0, 1) where n = 0.

    Raises
    ------
    DataError: unusable counts, naming the rows.

    What it measures
    ----------------
    Which success probabilities the counts of one prompt allow.

    Estimand and assumptions
    ------------------------
    p of each prompt on its own; independent rollouts, n fixed before sampling. Coverage is at
    least the level for every p.

    When it misleads
    ----------------
    It is pointwise: of 100 prompts about 5 lie outside. Do not average the ends over prompts.

    Example
    -------
    >>> low_P, high_P = binomial_interval([40, 25], [0, 25])
    >>> low_P.round(3), high_P.round(3)
    (array([0.   , 0.863]), array([0.088, 1.   ]))

    Source
    ------
    Clopper and Pearson 1934.
    """
    n, c = counts(n_P, c_P)
    tail = level_alpha(level) / 2
    low = np.zeros(n.shape)
    high = np.ones(n.shape)
    some, rest = c > 0, c < n
    low[some] = betaincinv(c[some], (n - c + 1)[some], tail)
    high[rest] = betaincinv((c + 1)[rest], (n - c)[rest], 1 - tail)
    return low, high


def betting_interval(values_MK: Floats, weights_M: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Bound weighted means of values in [0, 1] at confidence 1 - alpha, for any sample size.

    The mean m of a column is rejected from below when a bettor who stakes a fixed share of the
    wealth on "the values exceed m" would multiply it by more than 2 / alpha; from above likewise.
    The stakes are a small fixed mixture that depends on (m, size, alpha) alone, so the wealth is an
    e-value and Markov's inequality gives the bound (Waudby-Smith and Ramdas 2024). weights_M in
    (0, 1] are relative sizes of clusters, 1 for single prompts.
    """
    low = _betting_low(values_MK, weights_M, alpha / 2)
    high = 1.0 - _betting_low(1.0 - values_MK, weights_M, alpha / 2)
    mean = (weights_M @ values_MK) / weights_M.sum()
    return np.minimum(low, mean), np.maximum(high, mean)


def betting_rejects(values_M: Floats, m: float, alpha: float) -> bool:
    """Return whether the betting bound at 1 - alpha excludes m as the mean of values in [0, 1]."""
    size = float(values_M.size)

    def rich(values: Floats, at: float) -> bool:
        value, weight, count = (part[None, :] for part in _compressed(values, np.ones_like(values)))
        wealth = _log_wealth(np.array([at]), value, weight, count, size, alpha / 2)
        return bool(wealth[0] > np.log(2 / alpha))

    if values_M.mean() > m:
        return rich(values_M, m)
    return rich(1.0 - values_M, 1.0 - m)


def _betting_low(values_MK: Floats, weights_M: Floats, tail: float) -> Floats:
    """Bisect for the largest rejected mean of every column, below its observed mean."""
    value_KU, weight_KU, count_KU = _columns(values_MK, weights_M)
    size = float(weights_M.sum())
    mean_K = (count_KU * weight_KU * value_KU).sum(1) / size
    left, right = np.zeros_like(mean_K), mean_K.copy()
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        wealth = _log_wealth(middle, value_KU, weight_KU, count_KU, size, tail)
        rejected = wealth > -np.log(tail)
        left, right = np.where(rejected, middle, left), np.where(rejected, right, middle)
    return left


def _columns(values_MK: Floats, weights_M: Floats) -> tuple[Floats, Floats, Floats]:
    """Return values, weights and counts of the columns, one a row (equal values once)."""
    if weights_M.size <= _FEW_UNITS:
        shape = values_MK.T.shape
        return values_MK.T, np.broadcast_to(weights_M, shape), np.ones(shape)
    parts = [_compressed(column, weights_M) for column in values_MK.T]
    table = np.zeros((3, len(parts), max(value.size for value, _, _ in parts)))
    for k, part in enumerate(parts):
        table[:, k, : part[0].size] = part
    return table[0], table[1], table[2]


def _compressed(column: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    if weights.min() == weights.max():
        value, count = np.unique(column, return_counts=True)
        return value, np.full_like(value, weights[0]), count.astype(np.float64)
    pairs, count = np.unique(np.stack([column, weights]), axis=1, return_counts=True)
    return pairs[0], pairs[1], count.astype(np.float64)


def _log_wealth(
    m_K: Floats, value_KU: Floats, weight_KU: Floats, count_KU: Floats, size: float, tail: float
) -> Floats:
    # The smallest stake is the best one for the largest possible variance, m (1 - m).
    m = np.maximum(m_K, 1e-300)
    least = np.minimum(0.5, np.sqrt(2 * np.log(1 / tail) * m / (size * (1 - np.minimum(m, 0.999)))))
    stake_KJ = least[:, None] ** _SHARES
    gain_KU = weight_KU * (value_KU / m[:, None] - 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_KJU = np.log1p(np.maximum(stake_KJ[:, :, None] * gain_KU[:, None, :], -1.0))
        log_KJ = np.where(count_KU[:, None, :] > 0, count_KU[:, None, :] * log_KJU, 0.0).sum(2)
    top = log_KJ.max(1)
    return top + np.log(np.exp(log_KJ - top[:, None]).mean(1))


def all_binary(values: NDArray[np.float64]) -> bool:
    """Return whether every value is 0 or 1."""
    return bool(((values == 0.0) | (values == 1.0)).all())


def binary_interval(values: Floats, alpha: float) -> tuple[float, float]:
    """Return the exact interval of a mean of 0/1 values at confidence 1 - alpha."""
    total: Ints = np.array([values.size])
    low, high = binomial_interval(total, [values.sum()], 1 - alpha)
    return float(low[0]), float(high[0])
