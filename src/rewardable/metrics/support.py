"""Support dynamics: what is retained, lost and discovered within a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import ConfigError, DataError
from rewardable.metrics.checks import Floats, Ints, counts, level_alpha, whole
from rewardable.metrics.intervals import Interval
from rewardable.metrics.ratios import ratio_interval
from rewardable.metrics.subsets import hit, miss


@dataclass(frozen=True, kw_only=True)
class SupportDynamics:
    """Retention and discovery within k rollouts of each policy, with intervals.

    preserved, shrunk, expanded: expected share of units solved by both, before only, after only.
    retention: SRR = P / (P + S). discovery: NDR = E / (P + E).
    score: SDS, the harmonic mean of both. net_change: NSCR = (E - S) / (P + E + S).
    unchanged_retention: (low, high) of what SRR would read if nothing had changed at all: two
        draws of one policy do not solve the same units. Below that lies evidence of loss.
    """

    preserved: float
    shrunk: float
    expanded: float
    retention: Interval
    discovery: Interval
    score: Interval
    net_change: Interval
    unchanged_retention: tuple[float, float]
    k: int


def support_dynamics(
    n_before_P: ArrayLike,
    c_before_P: ArrayLike,
    n_after_P: ArrayLike,
    c_after_P: ArrayLike,
    *,
    k: int | None = None,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> SupportDynamics:
    """Estimate SRR, NDR, SDS and NSCR within a budget of k rollouts per policy.

    Parameters
    ----------
    n_before_P, c_before_P, n_after_P, c_after_P: counts of both policies, row i of all about one
        unit: a prompt, or one solution of a prompt (then pass the prompts as ``clusters``).
    k: budget; the smallest n of both when left out.
    level, clusters: as in :func:`mean_interval`.

    Returns
    -------
    SupportDynamics; a rate whose denominator is 0 everywhere is NaN with a warning.

    Raises
    ------
    DataError: unusable counts or vectors of different length; names the rows.
    ConfigError: k above the smallest n.

    What it measures
    ----------------
    Which share of what the first policy could reach the second still reaches, and which share of
    what the second reaches is new.

    Estimand and assumptions
    ------------------------
    P = E[u_b u_a], S = E[u_b (1 - u_a)], E = E[(1 - u_b) u_a] with u = 1 - (1-p)^k, rates as
    ratios of these. Given the unit the two policies are sampled independently, so products of
    unbiased estimates are unbiased: with k < n the noise of "zero seen" is averaged out.

    When it misleads
    ----------------
    "Not seen within k" is no proof of absence: compare the retention with
    ``unchanged_retention``, which is well below 1 when many units are rare. SRR says nothing of
    how often a retained unit is still solved.

    Example
    -------
    >>> found = support_dynamics([8] * 4, [8, 8, 0, 0], [8] * 4, [8, 0, 8, 0])
    >>> found.retention.mean, found.discovery.mean, found.net_change.mean
    (0.5, 0.5, 0.0)

    Source
    ------
    Definitions of "The Invisible Leash" (arXiv 2507.14843); estimators and intervals ours.
    """
    level_alpha(level)
    before = counts(n_before_P, c_before_P, ("n_before", "c_before"))
    after = counts(n_after_P, c_after_P, ("n_after", "c_after"))
    if before[0].shape != after[0].shape:
        raise DataError(f"{before[0].size} units before, {after[0].size} after; pair them.")
    budget = _budget(before[0], after[0], k)
    k_1: Ints = np.array(budget)
    u_b, u_a = hit(*before, k_1), hit(*after, k_1)
    both, lost, new = u_b * u_a, u_b * (1 - u_a), (1 - u_b) * u_a
    held_C, lost_C, new_C = (_by_cluster(part, clusters) for part in (both, lost, new))

    def rate(over: Floats, under: Floats, at: float = level) -> Interval:
        return ratio_interval(over, under, level=at, span=(0.0, 1.0))

    before_C, after_C, half = held_C + lost_C, held_C + new_C, (1 + level) / 2
    retention, discovery = rate(held_C, before_C), rate(new_C, after_C)
    wide = [rate(held_C, before_C, half), rate(new_C, after_C, half)]
    return SupportDynamics(
        preserved=float(both.mean()),
        shrunk=float(lost.mean()),
        expanded=float(new.mean()),
        retention=retention,
        discovery=discovery,
        score=_harmonic(retention, discovery, wide, level),
        net_change=ratio_interval(
            new_C - lost_C,
            held_C + new_C + lost_C,
            level=level,
            bounds=(-1.0, 1.0),
            span=(-1.0, 1.0),
        ),
        unchanged_retention=_unchanged(before, budget),
        k=budget,
    )


def _by_cluster(value_P: Floats, clusters: ArrayLike | None) -> Floats:
    """Sum the units of each cluster, as a share of the largest cluster; still within [-1, 1]."""
    if clusters is None:
        return value_P
    label = np.asarray(clusters)
    if label.shape != value_P.shape:
        raise DataError(f"clusters must have {value_P.size} rows, got {label.shape}.")
    _, code, size = np.unique(label, return_inverse=True, return_counts=True)
    return np.bincount(code.reshape(-1), weights=value_P, minlength=size.size) / size.max()


def _budget(n_before: Ints, n_after: Ints, k: int | None) -> int:
    least = int(min(n_before.min(), n_after.min()))
    if k is not None and whole(k, "k") > least:
        raise ConfigError(f"k = {k} exceeds the smallest number of rollouts, {least}.")
    return least if k is None else k


def _harmonic(
    retention: Interval, discovery: Interval, wide: list[Interval], level: float
) -> Interval:
    """SDS rises in both rates, so the ends of two 1 - alpha/2 intervals bound it."""

    def mean(a: float, b: float) -> float:
        return 2 * a * b / (a + b) if a + b > 0 else (0.0 if a + b == 0 else np.nan)

    return Interval(
        mean=mean(retention.mean, discovery.mean),
        low=mean(wide[0].low, wide[1].low),
        high=mean(wide[0].high, wide[1].high),
        level=level,
        method="from the intervals of both rates (Bonferroni)",
        warnings=tuple(dict.fromkeys((*retention.warnings, *discovery.warnings))),
    )


def _unchanged(before: tuple[Ints, Ints], k: int) -> tuple[float, float]:
    """Bound E[u^2] / E[u] of the first policy: SRR between two draws of it.

    E[u^2] = 1 - 2 E[q^k] + E[q^2k] with q = 1 - p; where 2k > n, q^2k lies between the square of
    the mean of q^k and the mean of q^n.
    """
    n, c = before
    missed: Floats = miss(n, c, np.array(k))
    found = float((1 - missed).mean())
    if found == 0:
        return float("nan"), float("nan")
    if (n >= 2 * k).all():
        twice = float(miss(n, c, np.array(2 * k)).mean())
        ends = (twice, twice)
    else:
        largest = miss(n, c, np.minimum(n, 2 * k))
        ends = (float(missed.mean()) ** 2, float(largest.mean()))
    low, high = ((1 - 2 * float(missed.mean()) + end) / found for end in ends)
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
