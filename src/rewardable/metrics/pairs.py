"""Two policies sampled under stopping rules: the joint law of where they end, and exact tests.

Under one rule that gives prompts up, the two sides are not sampled apart from each other: a prompt
that one side gave up is taken up again where the other solves it, but late. The joint law knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Bools, Floats, Ints, refuse
from rewardable.metrics.designs import design_law, stopped_interval
from rewardable.metrics.stopping import StoppingRule, log_paths

_NUISANCE = expit(np.linspace(-9.5, 9.5, 191))
_MOST_PAIRS = 8_000_000
_TIE = 1e-9

Counted = tuple[Ints, Ints]
"""Rollouts and successes, one pair a prompt."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """Where one policy may end, in any order.

    log_paths_S: of ending there by its own rule. log_again_S: of ending there after having been
    given up and taken up again. given_up_S, late_S: see :class:`StoppingRule`.
    """

    n_S: Ints
    c_S: Ints
    log_paths_S: Floats
    log_again_S: Floats
    given_up_S: Bools
    late_S: Bools

    def mass(self, p: Floats, log_S: Floats) -> Floats:
        """Return the probability of the paths counted in ``log_S`` at every p, shape [p, S]."""
        p = np.atleast_1d(p)[:, None]
        return np.exp(log_S + xlogy(self.c_S, p) + xlog1py(self.n_S - self.c_S, -p))

    def rows(self, counted: Counted) -> Ints:
        """Return the place of each state, -1 where it is none."""
        table = {pair: i for i, pair in enumerate(zip(self.n_S, self.c_S, strict=True))}
        return np.array([table.get(pair, -1) for pair in zip(*counted, strict=True)], dtype=int)


@lru_cache(maxsize=16)
def _side(rule: StoppingRule, paired: bool) -> Side:
    """List a rule's final states; ``paired``: with those of prompts that were taken up again."""
    rules = (rule, rule.to_the_end) if paired and rule.give_up else (rule,)
    laws = [design_law(one) for one in rules]
    states = {state for law in laws for state in zip(law.n_S, law.c_S, strict=True)}
    n, c = (np.array(part, dtype=np.int64) for part in zip(*sorted(states), strict=True))
    own, end = log_paths(rule, n, c), log_paths(rules[-1], n, c)
    ended = np.isfinite(end) & (len(rules) > 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        again = end + np.log(np.where(ended, np.maximum(-np.expm1(own - end), 0.0), 0.0))
    again = np.where(ended & (own < end - _TIE), again, -np.inf)
    return Side(n_S=n, c_S=c, log_paths_S=own, log_again_S=again,
                given_up_S=rule.gave_up(n, c), late_S=rule.late(n, c))  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class PairLaw:
    """The joint law of both sides. ``paired``: each takes given-up prompts up for the other."""

    first: Side
    second: Side
    paired: bool

    def joint(self, p: float, q: float) -> Floats:
        """Return the probability of every pair of final states at success rates p and q."""
        one, two = self.first, self.second
        x, y = one.mass(np.array(p), one.log_paths_S)[0], two.mass(np.array(q), two.log_paths_S)[0]
        joint = np.outer(x, y)
        if self.paired:
            joint[np.ix_(one.given_up_S, two.late_S)] = 0.0
            joint[np.ix_(one.late_S, two.given_up_S)] = 0.0
            joint += np.outer(one.mass(np.array(p), one.log_again_S)[0], y * two.late_S)
            joint += np.outer(x * one.late_S, two.mass(np.array(q), two.log_again_S)[0])
        return joint


@lru_cache(maxsize=16)
def pair_law(rule_before: StoppingRule, rule_after: StoppingRule) -> PairLaw:
    """Return the joint law under two rules; ConfigError where it is too large to enumerate."""
    paired = rule_before == rule_after and rule_before.give_up > 0
    first, second = _side(rule_before, paired), _side(rule_after, paired)
    if first.n_S.size * second.n_S.size > _MOST_PAIRS:
        raise ConfigError("the stopping rules have too many final states; use a larger step.")
    return PairLaw(first=first, second=second, paired=paired)


def check_pairs(
    rule_before: StoppingRule, rule_after: StoppingRule, before: Counted, after: Counted
) -> None:
    """Refuse states in which these rules cannot end together; DataError names the rows."""
    law = pair_law(rule_before, rule_after)
    if not law.paired:
        rule_before.check(*before)
        rule_after.check(*after)
        return
    x, y = law.first.rows(before), law.second.rows(after)
    refuse(x < 0, "n_before, c_before", before[0], "a final state of the stopping rule")
    refuse(y < 0, "n_after, c_after", after[0], "a final state of the stopping rule")
    never = law.joint(0.5, 0.5)[x, y] == 0
    refuse(never, "n_after, c_after", after[0], "a state that can go with the one before")


def design_p_values(
    rule_before: StoppingRule, rule_after: StoppingRule, before: Counted, after: Counted
) -> Floats:
    """Return two-sided p-values for "p did not change" under two stopping rules.

    Unconditional: over all pairs of final states, ordered by the likelihood ratio, the largest
    tail probability for any common p (on a fine grid). Conditioning on totals, as Fisher's test
    does, leaves almost nothing to compare when both sides stop at a number of successes.
    """
    law = pair_law(rule_before, rule_after)
    table = _p_table(rule_before, rule_after)
    return table[law.first.rows(before), law.second.rows(after)]


def design_power(
    rule_before: StoppingRule,
    rule_after: StoppingRule,
    p_before: float,
    p_after: float,
    alpha: float,
) -> float:
    """Return the probability that a fall is called at p-value ``alpha`` under two rules."""
    law = pair_law(rule_before, rule_after)
    share_before, share_after = law.first.c_S / law.first.n_S, law.second.c_S / law.second.n_S
    called = _p_table(rule_before, rule_after) <= alpha * (1 + _TIE)
    fall = called & (share_after[None, :] < share_before[:, None])
    return float(min(law.joint(p_before, p_after)[fall].sum(), 1.0))


def design_smallest_loss(
    rule_before: StoppingRule, rule_after: StoppingRule, alpha: float, power: float = 0.8
) -> float:
    """Return the smallest p whose fall to 0 is called with chance ``power``; NaN if none is."""
    low, high = 0.0, 1.0
    for _ in range(16):
        middle = (low + high) / 2
        enough = design_power(rule_before, rule_after, middle, 0.0, alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high if high < 1.0 else float("nan")


def pair_interval(
    rule: StoppingRule, paired: bool, own: Counted, other: Counted, level: float
) -> tuple[Floats, Floats]:
    """Return the interval of p of one side, whatever the other side made of its sampling.

    Where the other side was late, this one either went by its own rule or was taken up again, and
    the states do not always tell which: the interval holds for both.
    """
    if not (paired and rule.give_up):
        return stopped_interval(rule, *own, level)
    late = rule.late(*other)
    plain = np.isfinite(log_paths(rule, *own))
    low, high = np.ones(late.size), np.zeros(late.size)
    for may, one in ((plain, rule), (late, rule.to_the_end)):
        chosen = may & np.isfinite(log_paths(one, *own))
        if chosen.any():
            ends = stopped_interval(one, own[0][chosen], own[1][chosen], level)
            low[chosen] = np.minimum(low[chosen], ends[0])
            high[chosen] = np.maximum(high[chosen], ends[1])
    return low, high


@lru_cache(maxsize=16)
def _p_table(rule_before: StoppingRule, rule_after: StoppingRule) -> Floats:
    law = pair_law(rule_before, rule_after)
    return _tail_table(law, _likelihood_ratio(law.first, law.second))


def _likelihood_ratio(first: Side, second: Side) -> Floats:
    def best(n: Ints, c: Ints) -> Floats:
        share = c / n
        return xlogy(c, share) + xlog1py(n - c, -share)

    n, c = first.n_S[:, None] + second.n_S, first.c_S[:, None] + second.c_S
    return best(first.n_S, first.c_S)[:, None] + best(second.n_S, second.c_S) - best(n, c)


def _tail_table(law: PairLaw, statistic: Floats) -> Floats:
    flat = statistic.reshape(-1)
    order = np.argsort(-flat, kind="stable")
    ordered = flat[order]
    tie_end = np.append(np.flatnonzero(-np.diff(ordered) > _TIE), ordered.size - 1)
    group_end = tie_end[np.searchsorted(tie_end, np.arange(ordered.size))]
    largest = np.zeros(flat.size)
    for p in _NUISANCE.tolist():
        np.maximum(largest, np.cumsum(law.joint(p, p).reshape(-1)[order]), out=largest)
    table = np.empty(flat.size)
    table[order] = np.minimum(largest[group_end], 1.0)
    return table.reshape(statistic.shape)
