"""Exact laws of stopped counts, and intervals that are valid when sampling stops early."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, xlog1py, xlogy

from rewardable.metrics.checks import Floats, Ints, counts, level_alpha
from rewardable.metrics.passk import unique_pairs
from rewardable.metrics.stopping import StoppingRule, checked_states, log_paths

_HALVINGS = 45
_PLACES = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignLaw:
    """All final states (n, c) of a stopping rule, best first, with their numbers of paths.

    Best first is the stagewise order: an earlier stop at the wanted successes is better, at one
    look more successes are; worst is to be given up, the earlier the worse.
    """

    n_S: Ints
    c_S: Ints
    log_paths_S: Floats

    def mass(self, p: Floats) -> Floats:
        """Return the probability of every state at every p, shape [len(p), S]."""
        p = np.atleast_1d(p)[:, None]
        log_mass = self.log_paths_S + xlogy(self.c_S, p) + xlog1py(self.n_S - self.c_S, -p)
        return np.exp(log_mass)

    def row(self, n: Ints, c: Ints) -> Ints:
        """Return the index of each state."""
        table = {pair: i for i, pair in enumerate(zip(self.n_S, self.c_S, strict=True))}
        return np.array([table[pair] for pair in zip(n, c, strict=True)], dtype=np.int64)


@lru_cache(maxsize=64)
def design_law(rule: StoppingRule) -> DesignLaw:
    """List the final states of a rule in stagewise order."""
    wanted, left = list[tuple[int, int]](), list[tuple[int, int]]()
    for look in rule.looks.tolist():
        c = np.arange(look, -1, -1)
        n = np.full_like(c, look)
        ends = np.isfinite(log_paths(rule, n, c))
        wanted += [(look, x) for x in c[ends & (c >= rule.successes)].tolist()]
        left += [(-look, x) for x in c[ends & (c < rule.successes)].tolist()]
    last = [(-look, x) for look, x in sorted(left, key=lambda state: (state[0], -state[1]))]
    n, c = (np.array(part, dtype=np.int64) for part in zip(*wanted, *last, strict=True))
    return DesignLaw(n_S=n, c_S=c, log_paths_S=log_paths(rule, n, c))


def expected_rollouts(rule: StoppingRule, p: ArrayLike) -> Floats:
    """Return how many rollouts a prompt of success probability ``p`` takes on average."""
    law = design_law(rule)
    return law.mass(np.asarray(p, dtype=np.float64)) @ law.n_S


def rollouts_after_probe(rule: StoppingRule, n_P: ArrayLike, c_P: ArrayLike) -> float:
    """Return the rollouts of a prompt, averaged over what a small probe leaves open of its rate."""
    n, c = counts(n_P, c_P)
    places = (np.arange(_PLACES) + 0.5) / _PLACES
    rates = betaincinv(c[:, None] + 0.5, n[:, None] - c[:, None] + 0.5, places)
    return float(expected_rollouts(rule, rates.reshape(-1)).mean())


def fixed_rule(n: int) -> StoppingRule:
    """Return the rule that always draws n rollouts."""
    return StoppingRule(successes=n + 1, cap=n, first=n, step=n)


def stopped_interval(
    rule: StoppingRule, n_P: ArrayLike, c_P: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the exact interval of p for every prompt that was sampled under a stopping rule.

    Parameters
    ----------
    rule: how sampling was stopped.
    n_P, c_P: final rollouts and successes per prompt, shape [P].
    level: two-sided confidence.

    Returns
    -------
    (low_P, high_P), float64.

    Raises
    ------
    DataError: states that the rule cannot end in, naming the rows.

    What it measures
    ----------------
    Which success probabilities the outcome of an adaptive budget allows.

    Estimand and assumptions
    ------------------------
    p of each prompt; states are ordered by stage (an earlier stop, then more successes) and the
    two tails of the exact law are inverted. Coverage is at least the level for every p.

    When it misleads
    ----------------
    Plain binomial intervals on stopped counts are shifted upwards; this one is not. Prompts that
    stopped for any other reason than the rule (a crash, a time limit) do not fit.

    Example
    -------
    >>> rule = StoppingRule(successes=2, cap=64)
    >>> low_P, high_P = stopped_interval(rule, [10, 64], [2, 0])
    >>> low_P.round(3), high_P.round(3)
    (array([0.025, 0.   ]), array([0.482, 0.056]))

    Source
    ------
    Clopper and Pearson 1934, with the stagewise order of Jennison and Turnbull 2000, section 8.4.
    """
    tail = level_alpha(level) / 2
    n, c = checked_states(rule, n_P, c_P)
    law = design_law(rule)
    pairs, inverse = unique_pairs(n, c)
    row = law.row(pairs[:, 0], pairs[:, 1])
    low = _invert(law, row, tail, upper=False)
    high = _invert(law, row, tail, upper=True)
    return low[inverse], high[inverse]


def _invert(law: DesignLaw, row_U: Ints, tail: float, *, upper: bool) -> Floats:
    """Bisect for the p at which the tail beyond each state has probability ``tail``."""
    size = law.n_S.size
    left, right = np.zeros(row_U.size), np.ones(row_U.size)
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        reach = np.cumsum(law.mass(middle), axis=1)
        at = np.arange(row_U.size)
        if upper:
            below = np.where(row_U > 0, reach[at, row_U - 1], 0.0)
            inside = 1.0 - below > tail
        else:
            inside = reach[at, row_U] <= tail
        left, right = np.where(inside, middle, left), np.where(inside, right, middle)
    if upper:
        return np.where(row_U == 0, 1.0, right)
    return np.where(row_U == size - 1, 0.0, left)


def benjamini_hochberg(p_P: Floats, alpha: float) -> tuple[Floats, float]:
    """Return adjusted p-values and the largest p with which one more prompt would be called."""
    order = np.argsort(p_P, kind="stable")
    ratio = p_P[order] * p_P.size / np.arange(1, p_P.size + 1)
    adjusted = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    q_P = np.empty_like(p_P)
    q_P[order] = adjusted
    called = int((q_P <= alpha).sum())
    return q_P, alpha * min(called + 1, p_P.size) / p_P.size
