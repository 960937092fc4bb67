"""Adaptive budgets: what may be estimated when sampling stops early, and how.

The counts alone are not enough once a prompt is left because it has been solved: c / n is then too
large. The share of sample paths that begin in a given way, among all paths that end in the state
that was seen, is unbiased instead, because given the final state all its paths are equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Bools, Floats, Ints, counts, refuse, whole
from rewardable.metrics.subsets import log_choose


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """Stop a prompt at the first look with at least ``successes``, or at ``cap`` rollouts.

    successes: r, at least 1.
    cap: rollouts after which a prompt is left in any case.
    first: rollouts before the first look; trainability at group size G needs first >= G.
    step: rollouts between two looks (the size of a sampling round).
    give_up: from this many rollouts on, a prompt is also left at a look at which it has under half
        of the successes that would put it on course for r at the cap: c < r n / (2 cap). Budgets
        k above the first such look cannot be estimated. 0: never.

    Looks fall on first, first + step, first + 2 step, ... and cap. Raises ConfigError for values
    below 1, a first look beyond the cap, or giving up before the first look.
    """

    successes: int
    cap: int
    first: int = 1
    step: int = 1
    give_up: int = 0

    def __post_init__(self) -> None:
        """Refuse rules that cannot be meant."""
        for name in ("successes", "cap", "first", "step"):
            whole(getattr(self, name), name)
        whole(self.give_up, "give_up", 0)
        if self.first > self.cap:
            raise ConfigError(f"first look {self.first} lies beyond the cap {self.cap}.")
        if self.give_up and not self.first <= self.give_up <= self.cap:
            raise ConfigError(
                f"give_up must lie between the first look {self.first} and the cap {self.cap}, "
                f"got {self.give_up}; 0 never gives up."
            )

    @cached_property
    def looks(self) -> Ints:
        """The numbers of rollouts at which sampling may stop, in order."""
        regular = np.arange(self.first, self.cap, self.step, dtype=np.int64)
        return np.append(regular, self.cap)

    @property
    def widest(self) -> int:
        """The largest budget k at which pass@k can be estimated."""
        if not self.give_up:
            return self.cap
        return int(self.looks[np.searchsorted(self.looks, self.give_up)])

    @property
    def most_rollouts(self) -> int:
        """How many rollouts a prompt may take if many stay ungraded: twice the cap.

        The rule counts graded rollouts; an ungraded one is replaced by a further one.
        """
        return 2 * self.cap

    @property
    def words(self) -> str:
        """The rule in words, to go on with a colon or full stop."""
        left = f"until {self.successes} successes or {self.cap} rollouts"
        if self.give_up:
            left += f" (from {self.give_up} on also when behind half the pace)"
        return f"{left}, looking at {self.first} and then every {self.step}"

    def stops(self, n: int | Ints, c: int | Ints) -> Bools:
        """Whether a look at n rollouts with c successes ends the sampling; broadcasts."""
        n, c = np.broadcast_arrays(np.asarray(n, dtype=np.int64), np.asarray(c, dtype=np.int64))
        behind = (2 * c * self.cap < self.successes * n) & (n >= self.give_up) & (self.give_up > 0)
        return (c >= self.successes) | (n >= self.cap) | behind

    @property
    def to_the_end(self) -> StoppingRule:
        """The same rule without giving up: what a prompt goes on under that is taken up again."""
        return replace(self, give_up=0)

    def gave_up(self, n: int | Ints, c: int | Ints) -> Bools:
        """Whether final states are those of prompts that were given up before the cap."""
        return (np.asarray(n) < self.cap) & (np.asarray(c) < self.successes)

    def late(self, n: int | Ints, c: int | Ints) -> Bools:
        """Whether final states are of prompts whose opposite must not be given up.

        Against successes over more than half of ``give_up`` rollouts, none in ``give_up`` proves
        too little: where one policy of a pair ends so and the other was given up, the other is
        taken up again, ``to_the_end``.
        """
        return ~self.gave_up(n, c) & (2 * np.asarray(n) > self.give_up) & (self.give_up > 0)

    def wants_more(self, n: int, c: int) -> int:
        """Return how many further rollouts a prompt with c successes in n needs; 0 to stop."""
        if n >= self.cap or (n in self.looks and bool(self.stops(n, c))):
            return 0
        return int(self.looks[np.searchsorted(self.looks, n, side="right")]) - n

    def follow(self, success_R: ArrayLike) -> tuple[int, int, int]:
        """Return (n, c, further rollouts needed) of a prompt whose rollouts came in this order.

        Rollouts beyond the look at which the rule stops are not counted. Nothing further is
        needed at a final state; else n and c are of all rollouts given.
        """
        total = np.concatenate([[0], np.cumsum(np.asarray(success_R, dtype=np.int64))])
        reached = self.looks[self.looks < total.size]
        ended = reached[self.stops(reached, total[reached])]
        n = int(ended[0]) if ended.size else total.size - 1
        return n, int(total[n]), 0 if ended.size else self.wants_more(n, int(total[n]))

    def check(self, n: Ints, c: Ints) -> None:
        """Refuse final states that this rule cannot end in; DataError names the rows."""
        at = np.searchsorted(self.looks, n)
        looks = self.looks[np.minimum(at, self.looks.size - 1)]
        refuse(looks != n, "n", n, "at a look of the stopping rule")
        early = ~self.stops(n, c)
        refuse(early, "c", c, f">= {self.successes} where sampling stopped before the cap")
        late = np.isneginf(log_paths(self, n, c))
        refuse(late, "c", c, "such that the prompt had not to stop at an earlier look")


def log_paths(rule: StoppingRule, n: Ints, c: Ints, a: int = 0, b: int = 0) -> Floats:
    """Return the log number of sample paths that end in (n, c) and begin with one given order.

    ``a`` successes and ``b`` failures in an order in which the rule does not stop on the way; -inf
    where no path does.
    """
    table = _path_table(rule, a, b)
    column = np.minimum(c, table.shape[1] - 1)
    found = table[np.searchsorted(rule.looks, n), column]
    return np.where(c < table.shape[1], found, -np.inf)


@lru_cache(maxsize=512)
def _path_table(rule: StoppingRule, a: int, b: int) -> Floats:
    """Count paths look by look, in logs: [looks, successes], -inf where nothing ends."""
    most = min(rule.cap, max(rule.first, rule.successes - 1 + rule.step))
    table = np.full((rule.looks.size, most + 1), -np.inf)
    alive = np.full(most + 1, -np.inf)
    alive[a] = 0.0
    n = a + b
    for row, look in enumerate(rule.looks.tolist()):
        if look < n:
            continue
        reached = _further(alive, look - n)
        ends = rule.stops(look, np.arange(most + 1))
        table[row, ends] = reached[ends]
        alive, n = np.where(ends, -np.inf, reached), look
    return table


def _further(alive: Floats, draws: int) -> Floats:
    """Spread log path counts by success over ``draws`` further rollouts."""
    more: Ints = np.arange(draws + 1)
    ways = log_choose(np.full_like(more, draws), more)
    reached = np.full(alive.size, -np.inf)
    for held in np.flatnonzero(np.isfinite(alive)).tolist():
        part = reached[held : held + draws + 1]
        np.logaddexp(part, alive[held] + ways[: part.size], out=part)
    return reached


def path_share(rule: StoppingRule, n: Ints, c: Ints, a: int, b: int) -> Floats:
    """Return the unbiased estimate of p^a (1-p)^b from final states (n, c).

    Raises ConfigError where the rule could stop within every such beginning, so that nothing
    unbiased exists.
    """
    inside = rule.looks[rule.looks < a + b]
    one_order = (np.minimum(inside, a), np.maximum(inside - b, 0))
    if a + b > rule.cap or all(rule.stops(inside, held).any() for held in one_order):
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
