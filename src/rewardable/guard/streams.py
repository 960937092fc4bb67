"""Logged metrics against the run's own start.

Successive values of one run depend on each other, so no error rate is claimed for them: a stream
is *off* when the medians of several blocks in a row lie beyond the start window by a fixed amount
and by several robust scales. That warns and asks for a sampled audit; it never acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

from rewardable.guard.config import GuardConfig
from rewardable.guard.observation import Metric

Way = Literal["fall", "rise", "either"]
_CONSTANT_AFTER = 32


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When a stream is off: beyond the start by ``relative`` x |start| and by ``absolute``.

    ceiling: a value that is off whatever the start was. sparse: logged at intervals, so the start
    is two values, a block one, and two blocks in a row suffice.
    """

    way: Way
    relative: float = 0.0
    absolute: float = 0.0
    ceiling: float | None = None
    sparse: bool = False


RULES: Mapping[str, Rule] = {
    "entropy": Rule(way="fall", relative=0.5),
    "first_token_entropy": Rule(way="fall", relative=0.5),
    "distinct_outputs": Rule(way="fall", relative=0.4),
    "opening_drift": Rule(way="rise", absolute=0.3),
    "length": Rule(way="either", relative=0.5),
    "ngram_repetition": Rule(way="rise", absolute=0.2),
    "format_compliance": Rule(way="fall", absolute=0.1),
    "kl": Rule(way="rise", relative=9.0, absolute=0.1),
    "zero_variance_share": Rule(way="rise", absolute=0.3, ceiling=0.95),
    "held_out_success": Rule(way="fall", absolute=0.1, sparse=True),
    "perturbation_robustness": Rule(way="fall", absolute=0.1, sparse=True),
}


@dataclass(kw_only=True)
class Stream:
    """State of one logged signal."""

    signal: str
    start: list[float] = field(default_factory=list[float])
    block: list[float] = field(default_factory=list[float])
    errors: list[float] = field(default_factory=list[float])
    beyond: int = 0
    inside: int = 0
    off: bool = False
    value: float | None = None
    seen: int = 0
    constant: bool = True

    def add(self, metric: Metric, config: GuardConfig) -> None:
        """Take one value; the start window fills first, then blocks are judged."""
        rule = RULES[self.signal]
        window, size = (2, 1) if rule.sparse else (config.window, config.block)
        self.constant = self.constant and (not self.start or metric.value == self.start[0])
        self.seen += 1
        self.errors = [*self.errors, standard_error(metric)][-(window + size) :]
        if len(self.start) < window:
            self.start.append(metric.value)
            return
        self.block.append(metric.value)
        if len(self.block) == size:
            self._judge(rule, config)
            self.block = []

    def _judge(self, rule: Rule, config: GuardConfig) -> None:
        self.value = median(self.block)
        needed = 2 if rule.sparse else config.persist
        out = self._beyond(rule, config.scales)
        self.beyond, self.inside = (self.beyond + 1, 0) if out else (0, self.inside + 1)
        if self.beyond >= needed:
            self.off = True
        elif self.inside >= 2:
            self.off = False

    def _beyond(self, rule: Rule, scales: float) -> bool:
        assert self.value is not None
        if rule.ceiling is not None and self.value >= rule.ceiling:
            return True
        centre = self.centre
        move = self.value - centre
        size = {"fall": -move, "rise": move, "either": abs(move)}[rule.way]
        spread = max(self.scale, *self.errors, 0.0)
        least = max(rule.relative * abs(centre), rule.absolute, scales * spread)
        return size > 0.0 and size >= least

    @property
    def centre(self) -> float:
        """Median of the start window."""
        return median(self.start)

    @property
    def scale(self) -> float:
        """Median absolute deviation of the start window, scaled to a standard deviation."""
        centre = self.centre
        return 1.4826 * median(abs(value - centre) for value in self.start)

    @property
    def never_moved(self) -> bool:
        """Every value of a long stream was the same."""
        return self.constant and self.seen >= _CONSTANT_AFTER

    def forget(self) -> None:
        """Drop what was seen since the start, after a roll-back."""
        self.block, self.beyond, self.inside, self.off, self.value = [], 0, 0, False, None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def standard_error(metric: Metric) -> float:
    """Return the standard error of a metric; of a share from its n; 0 where unknown."""
    if metric.standard_error is not None:
        return metric.standard_error
    if metric.n and 0.0 <= metric.value <= 1.0:
        return (metric.value * (1.0 - metric.value) / metric.n) ** 0.5
    return 0.0
