"""Exact laws of stopped counts: intervals and tests that are valid when sampling stops early."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, xlog1py, xlogy

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, level_alpha
from rewardable.metrics.passk import unique_pairs
from rewardable.metrics.stopping import StoppingRule, checked_states, log_paths

_NUISANCE = expit(np.linspace(-9.5, 9.5, 191))
_MOST_PAIRS = 8_000_000
_HALVINGS = 45
_TIE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignLaw:
    """All final states (n, c) of a stopping rule, best first, with their numbers of paths.

    Best first is the stagewise order: an earlier stop is better, at one look more successes are.
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


def design_law(rule: StoppingRule) -> DesignLaw:
    """List the final states of a rule in stagewise order."""
    states: list[tuple[int, int]] = []
    previous = 0
    for look in rule.looks.tolist():
        most = look if previous == 0 else min(look, rule.successes - 1 + look - previous)
        least = 0 if look == rule.cap else rule.successes
        states += [(look, c) for c in range(most, least - 1, -1)]
        previous = look
    n, c = (np.array(part, dtype=np.int64) for part in zip(*states, strict=True))
    return DesignLaw(n_S=n, c_S=c, log_paths_S=log_paths(rule, n, c))


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


def design_p_values(
    rule_before: StoppingRule,
    rule_after: StoppingRule,
    before: tuple[Ints, Ints],
    after: tuple[Ints, Ints],
) -> Floats:
    """Return two-sided p-values for "p did not change" under two stopping rules.

    Unconditional: over all pairs of final states, ordered by the likelihood ratio, the largest
    tail probability for any common p (on a fine grid). Conditioning on totals, as Fisher's test
    does, leaves almost nothing to compare when both sides stop at a number of successes.
    """
    first, second = design_law(rule_before), design_law(rule_after)
    return _p_table(rule_before, rule_after)[first.row(*before), second.row(*after)]


def design_power(
    rule_before: StoppingRule,
    rule_after: StoppingRule,
    p_before: float,
    p_after: float,
    alpha: float,
) -> float:
    """Return the probability that a fall is called at p-value ``alpha`` under two rules."""
    first, second = design_law(rule_before), design_law(rule_after)
    share_before, share_after = first.c_S / first.n_S, second.c_S / second.n_S
    called = _p_table(rule_before, rule_after) <= alpha * (1 + _TIE)
    fall = called & (share_after[None, :] < share_before[:, None])
    mass = first.mass(np.array([p_before]))[0], second.mass(np.array([p_after]))[0]
    return float(min(mass[0] @ fall @ mass[1], 1.0))


@lru_cache(maxsize=16)
def _p_table(rule_before: StoppingRule, rule_after: StoppingRule) -> Floats:
    first, second = design_law(rule_before), design_law(rule_after)
    if first.n_S.size * second.n_S.size > _MOST_PAIRS:
        raise ConfigError("the stopping rules have too many final states; use a larger step.")
    return _tail_table(first, second, _likelihood_ratio(first, second))


def _likelihood_ratio(first: DesignLaw, second: DesignLaw) -> Floats:
    def best(n: Ints, c: Ints) -> Floats:
        share = c / n
        return xlogy(c, share) + xlog1py(n - c, -share)

    n, c = first.n_S[:, None] + second.n_S, first.c_S[:, None] + second.c_S
    return best(first.n_S, first.c_S)[:, None] + best(second.n_S, second.c_S) - best(n, c)


def _tail_table(first: DesignLaw, second: DesignLaw, statistic: Floats) -> Floats:
    flat = statistic.reshape(-1)
    order = np.argsort(-flat, kind="stable")
    ordered = flat[order]
    tie_end = np.append(np.flatnonzero(-np.diff(ordered) > _TIE), ordered.size - 1)
    group_end = tie_end[np.searchsorted(tie_end, np.arange(ordered.size))]
    largest = np.zeros(flat.size)
    mass_first, mass_second = first.mass(_NUISANCE), second.mass(_NUISANCE)
    for one, two in zip(mass_first, mass_second, strict=True):
        joint = (one[:, None] * two).reshape(-1)[order]
        np.maximum(largest, np.cumsum(joint), out=largest)
    table = np.empty(flat.size)
    table[order] = np.minimum(largest[group_end], 1.0)
    return table.reshape(statistic.shape)


def benjamini_hochberg(p_P: Floats, alpha: float) -> tuple[Floats, float]:
    """Return adjusted p-values and the largest p with which one more prompt would be called."""
    order = np.argsort(p_P, kind="stable")
    ratio = p_P[order] * p_P.size / np.arange(1, p_P.size + 1)
    adjusted = np.minimum(np.minimum.accumulate(ratio[::-1])[::-1], 1.0)
    q_P = np.empty_like(p_P)
    q_P[order] = adjusted
    called = int((q_P <= alpha).sum())
    return q_P, alpha * min(called + 1, p_P.size) / p_P.size
