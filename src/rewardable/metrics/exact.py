"""Exact conditional tests of two binomials, with the whole null distribution of their p-values.

Given the total of successes s, the number before is hypergeometric under "nothing changed",
whatever the common probability: Fisher's exact test. Its p-values are discrete; the procedure in
:mod:`rewardable.metrics.discovery` uses their distribution, so discreteness costs little power.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rewardable.metrics.checks import Floats, Ints
from rewardable.metrics.subsets import log_choose

_TIE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class NullLaw:
    """Distribution of the two-sided p-value of one margin (n_before, n_after, s).

    first: the smallest possible number of successes before.
    p_X: two-sided p-value of each possible number, in order.
    support_S, mass_S: the distinct p-values in increasing order and P(p-value <= support).
    """

    first: int
    p_X: Floats
    support_S: Floats
    mass_S: Floats

    def reach(self, t: Floats) -> Floats:
        """Return P(p-value <= t) under the null, at every t."""
        at = np.searchsorted(self.support_S, t * (1 + _TIE), side="right")
        return np.concatenate([[0.0], self.mass_S])[at]


@lru_cache(maxsize=4096)
def null_law(n_before: int, n_after: int, total: int) -> NullLaw:
    """Build the law of the two-sided p-value: twice the smaller tail, at most 1."""
    first, last = max(0, total - n_after), min(n_before, total)
    x = np.arange(first, last + 1)
    log_pmf = log_choose(np.array(n_before), x) + log_choose(np.array(n_after), total - x)
    pmf = np.exp(log_pmf - log_pmf.max())
    pmf /= pmf.sum()
    lower = np.cumsum(pmf)
    upper = np.cumsum(pmf[::-1])[::-1]
    p_X = np.minimum(1.0, 2 * np.minimum(lower, upper))
    order = np.argsort(p_X, kind="stable")
    support, mass = p_X[order], np.minimum(np.cumsum(pmf[order]), 1.0)
    last_of_tie = np.append(np.diff(support) > _TIE * support[:-1], True)
    return NullLaw(first=first, p_X=p_X, support_S=support[last_of_tie], mass_S=mass[last_of_tie])


def law_of_each(n_before: Ints, n_after: Ints, total: Ints) -> tuple[list[NullLaw], Ints]:
    """Return one law for every distinct margin and, for each prompt, which one is its own."""
    margins, inverse = np.unique(np.stack([n_before, n_after, total]), axis=1, return_inverse=True)
    laws = [null_law(int(n), int(m), int(s)) for n, m, s in margins.T]
    return laws, np.asarray(inverse).reshape(-1)


def fisher_p(n_before: Ints, c_before: Ints, n_after: Ints, c_after: Ints) -> Floats:
    """Return the two-sided exact p-value of every prompt; 1 where nothing was ever solved."""
    laws, own = law_of_each(n_before, n_after, c_before + c_after)
    return p_values(laws, own, c_before)


def p_values(laws: list[NullLaw], own: Ints, c_before: Ints) -> Floats:
    """Return the p-value of each prompt under its own law."""
    pairs = zip(own, c_before, strict=True)
    return np.array([laws[i].p_X[c - laws[i].first] for i, c in pairs])
