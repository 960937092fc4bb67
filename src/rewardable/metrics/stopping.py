"""Adaptive budgets: what may be estimated when sampling stops early, and how.

The counts alone are not enough once a prompt is left because it has been solved: c / n is then too
large. The share of sample paths that begin in a given way, among all paths that end in the state
that was seen, is unbiased instead, because given the final state all its paths are equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, counts, refuse, whole
from rewardable.metrics.subsets import log_choose


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """Stop a prompt at the first look with at least ``successes``, or at ``cap`` rollouts.

    successes: r, at least 1.
    cap: rollouts after which a prompt is left in any case.
    first: rollouts before the first look; trainability at group size G needs first >= G.
    step: rollouts between two looks (the size of a sampling round).

    Looks fall on first, first + step, first + 2 step, ... and cap. Raises ConfigError for values
    below 1 or a first look beyond the cap.
    """

    successes: int
    cap: int
    first: int = 1
    step: int = 1

    def __post_init__(self) -> None:
        """Refuse rules that cannot be meant."""
        for name in ("successes", "cap", "first", "step"):
            whole(getattr(self, name), name)
        if self.first > self.cap:
            raise ConfigError(f"first look {self.first} lies beyond the cap {self.cap}.")

    @property
    def looks(self) -> Ints:
        """The numbers of rollouts at which sampling may stop, in order."""
        regular = np.arange(self.first, self.cap, self.step, dtype=np.int64)
        return np.append(regular, self.cap)

    def wants_more(self, n: int, c: int) -> int:
        """Return how many further rollouts a prompt with c successes in n needs; 0 to stop."""
        looks = self.looks
        if n in looks and (c >= self.successes or n == self.cap):
            return 0
        return int(looks[np.searchsorted(looks, n, side="right")]) - n

    def check(self, n: Ints, c: Ints) -> None:
        """Refuse final states that this rule cannot end in; DataError names the rows."""
        at = np.searchsorted(self.looks, n)
        looks = self.looks[np.minimum(at, self.looks.size - 1)]
        refuse(looks != n, "n", n, "at a look of the stopping rule")
        early = (c < self.successes) & (n < self.cap)
        refuse(early, "c", c, f">= {self.successes} where sampling stopped before the cap")
        before = self.previous_look(n)
        late = (before > 0) & (c - (n - before) >= self.successes)
        refuse(late, "c", c, "such that the prompt had not to stop at an earlier look")

    def previous_look(self, n: Ints) -> Ints:
        """Return the look before each final look ``n``; 0 where it was the first."""
        looks = np.concatenate([[0], self.looks])
        return looks[np.searchsorted(looks, n) - 1]


def log_paths(rule: StoppingRule, n: Ints, c: Ints, a: int = 0, b: int = 0) -> Floats:
    """Return the log number of sample paths that end in (n, c) and begin with one given order.

    ``a`` successes and ``b`` failures in a fixed order; -inf where no path does.
    """
    previous = rule.previous_look(n)
    free = (previous == 0) | ((n == rule.cap) & (c < rule.successes))
    whole_path = _log_choose(n - a - b, c - a)
    inside = np.minimum(previous, n)
    split = np.full(n.shape, -np.inf)
    for held in range(rule.successes):
        tail = _log_choose(n - inside, c - held)
        split = np.logaddexp(split, _log_choose(inside - a - b, held - a * np.ones_like(n)) + tail)
    crossing = (a + b > inside) & ~free
    split = np.where(crossing, _beyond(rule, n, c, inside, a, b), split)
    return np.where(free, whole_path, split)


def _beyond(rule: StoppingRule, n: Ints, c: Ints, inside: Ints, a: int, b: int) -> Floats:
    # The given beginning reaches past the look before the last: there it must not have stopped.
    # Its first `inside` draws hold at most min(a, inside) successes whatever their order.
    allowed = a < rule.successes
    value = _log_choose(n - a - b, c - a)
    return np.where(allowed & (a + b <= n), value, -np.inf)


def path_share(rule: StoppingRule, n: Ints, c: Ints, a: int, b: int) -> Floats:
    """Return the unbiased estimate of p^a (1-p)^b from final states (n, c).

    Raises ConfigError where the rule could stop within such a beginning, so that nothing unbiased
    exists: it needs a + b <= first, or a < successes and a + b <= cap.
    """
    if a + b > rule.cap or (a + b > rule.first and a >= rule.successes):
        raise ConfigError(
            f"p^{a} (1-p)^{b} cannot be estimated under {rule}: sampling may stop before "
            f"{a + b} rollouts. Raise `first` to {a + b}."
        )
    return np.exp(log_paths(rule, n, c, a, b) - log_paths(rule, n, c))


def checked_states(rule: StoppingRule, n_P: ArrayLike, c_P: ArrayLike) -> tuple[Ints, Ints]:
    """Return counts that are final states of the rule; DataError names the rows."""
    n, c = counts(n_P, c_P)
    rule.check(n, c)
    return n, c


def _log_choose(n: Ints, k: Ints) -> Floats:
    good = (k >= 0) & (k <= n) & (n >= 0)
    safe_n, safe_k = np.where(good, n, 0), np.where(good, k, 0)
    return np.where(good, log_choose(safe_n, safe_k), -np.inf)
