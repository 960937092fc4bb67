"""False-discovery control over many exact tests that uses their discreteness."""

from __future__ import annotations

import numpy as np

from rewardable.metrics.checks import Floats, Ints
from rewardable.metrics.exact import NullLaw


def discrete_fdr(
    laws: list[NullLaw], own_P: Ints, p_P: Floats, alpha: float
) -> tuple[Floats, float]:
    """Adjust exact p-values so that calling ``q <= alpha`` keeps false discoveries at alpha.

    Returns (q_P, threshold): adjusted p-values, and the largest p-value with which one more
    prompt would have been called.

    The step-up procedure for discrete tests [DBH-SU] of Doehler, Durand and Roquain (2018,
    Electronic Journal of Statistics 12), proved for independent tests: the usual m t is replaced
    by sum_i F_i(t) / (1 - F_i(t_max)), where F_i is the null distribution of the i-th p-value. The
    largest threshold t_max is kept at alpha or below. Prompts whose totals cannot reach alpha
    (Tarone 1990) are left out, so dead and always solved prompts cost nothing.
    """
    able = np.array([law.support_S[0] <= alpha * (1 + 1e-9) for law in laws])[own_P]
    q_P = np.ones_like(p_P)
    if not able.any():
        return q_P, 0.0
    weight = np.bincount(own_P[able], minlength=len(laws)).astype(np.float64)
    top, reach_top = _largest_threshold(laws, weight, alpha)
    order = np.argsort(p_P[able], kind="stable")
    sorted_p = p_P[able][order]
    share = weight / np.maximum(1 - reach_top, 1e-12)
    ratio = _expected(laws, share, sorted_p) / np.arange(1, sorted_p.size + 1)
    over = sorted_p > top * (1 + 1e-9)
    ratio[over] = np.maximum(ratio[over], np.nextafter(alpha, 1.0))
    adjusted = np.empty_like(ratio)
    adjusted[order] = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    q_P[able] = adjusted
    return q_P, _next_threshold(laws, share, sorted_p, top, alpha)


def _largest_threshold(laws: list[NullLaw], weight: Floats, alpha: float) -> tuple[float, Floats]:
    """Return the largest attainable t with sum F/(1-F) <= alpha m, and every F_i there."""
    attainable = _attainable(laws, alpha)
    limit = alpha * weight.sum()
    left, right = -1, attainable.size
    while right - left > 1:
        middle = (left + right) // 2
        reach = _reach(laws, float(attainable[middle]))
        fits = reach.max() < 1 and (weight * reach / (1 - reach)).sum() <= limit
        left, right = (middle, right) if fits else (left, middle)
    if left < 0:
        return 0.0, np.zeros(len(laws))
    return float(attainable[left]), _reach(laws, float(attainable[left]))


def _attainable(laws: list[NullLaw], most: float) -> Floats:
    limit = most * (1 + 1e-9)
    parts = [law.support_S[: np.searchsorted(law.support_S, limit)] for law in laws]
    return np.unique(np.concatenate(parts))


def _reach(laws: list[NullLaw], t: float) -> Floats:
    at = np.array([t])
    return np.array([law.reach(at)[0] for law in laws])


def _expected(laws: list[NullLaw], share: Floats, t: Floats) -> Floats:
    total = np.zeros_like(t)
    for law, part in zip(laws, share, strict=True):
        total += part * law.reach(t)
    return total


def _next_threshold(
    laws: list[NullLaw], share: Floats, sorted_p: Floats, top: float, alpha: float
) -> float:
    """Return the largest attainable t <= top that one more prompt could be called with."""
    attainable = _attainable(laws, top)
    rank = np.searchsorted(sorted_p, attainable, side="right") + 1
    good = attainable[_expected(laws, share, attainable) <= alpha * rank]
    return float(good.max()) if good.size else 0.0
