"""Intervals for exactly the prompts at hand: only the sampling noise within prompts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, rel_entr

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, counts, level_alpha, whole
from rewardable.metrics.intervals import Interval
from rewardable.metrics.passk import pass_at_k
from rewardable.metrics.subsets import hit
from rewardable.metrics.units import LEAST_EFFECTIVE, LEAST_INFORMATIVE


def fixed_prompts_interval(
    n_P: ArrayLike, c_P: ArrayLike, k: int, *, level: float = 0.95
) -> Interval:
    """Return mean pass@k over exactly these prompts, with the interval for new rollouts of them.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P], all >= k; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    k: budget.
    level: confidence.

    Returns
    -------
    Interval.

    Raises
    ------
    DataError: unusable counts, naming the rows. ConfigError: k above the smallest n.

    What it measures
    ----------------
    How far the average would move if the same prompts were sampled again.

    Estimand and assumptions
    ------------------------
    The mean of 1 - (1-p_i)^k over the given prompts, p_i fixed. The variance is the sum of
    within-prompt jackknife variances, which is too large rather than too small (Efron and Stein);
    with fewer than 20 prompts that show any, a variance that a few prompts carry, or k = n, where
    none can be seen, the bound of Hoeffding for independent values in [0, 1] is used.

    When it misleads
    ----------------
    It says nothing of other prompts: for a benchmark as a sample of a domain use
    :func:`mean_interval`, which is wider.

    Example
    -------
    >>> found = fixed_prompts_interval([8] * 40, [0, 2, 4, 8] * 10, 1)
    >>> round(found.mean, 4), found.low < 0.4375 < found.high
    (0.4375, True)

    Source
    ------
    Efron and Stein 1981; Hoeffding 1963, theorem 1.
    """
    alpha = level_alpha(level)
    n, c = counts(n_P, c_P)
    if whole(k, "k") > n.min():
        raise ConfigError(f"k = {k} exceeds the smallest number of rollouts, {n.min()}.")
    mean = float(pass_at_k(n, c, k).mean())
    spread = _jackknife(n, c, k) if k < n.min() else np.zeros(n.size)
    mixed, total = int((spread > 0).sum()), float(spread.sum())
    few = mixed < LEAST_INFORMATIVE or total**2 < LEAST_EFFECTIVE * float((spread**2).sum())
    if few:
        low, high = hoeffding_interval(mean, n.size, alpha)
        why = f"{mixed} prompts show within-prompt variance, too few: Hoeffding's bound"
        return Interval(mean=mean, low=low, high=high, level=level, method=why, warnings=(why,))
    half = float(ndtri(1 - alpha / 2)) * np.sqrt(total) / n.size
    return Interval(
        mean=mean,
        low=float(max(mean - half, 0.0)),
        high=float(min(mean + half, 1.0)),
        level=level,
        method=f"within-prompt jackknife, {n.size} fixed prompts",
    )


def hoeffding_interval(mean: float, size: int, alpha: float) -> tuple[float, float]:
    """Return the bound for the mean of ``size`` independent values in [0, 1], any distributions.

    An end m is where size x KL(mean, m) reaches log(2 / alpha); with mean 0 this is the exact
    binomial bound.
    """
    limit = np.log(2 / alpha) / size

    def end(far: float) -> float:
        near = mean
        for _ in range(50):
            middle = (near + far) / 2
            gap = rel_entr(mean, middle) + rel_entr(1 - mean, 1 - middle)
            near, far = (near, middle) if gap > limit else (middle, far)
        return far

    return end(0.0) if mean > 0 else 0.0, end(1.0) if mean < 1 else 1.0


def _jackknife(n: Ints, c: Ints, k: int) -> Floats:
    """Return the jackknife variance of each prompt's pass@k: leave one rollout out."""
    budget = np.array(k)
    less_hit = hit(n - 1, np.maximum(c - 1, 0), budget)
    less_miss = hit(n - 1, np.minimum(c, n - 1), budget)
    share = c / n
    spread = share * (1 - share) * (less_hit - less_miss) ** 2
    return (n - 1.0) * spread
