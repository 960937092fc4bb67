"""Seeded Countdown instances, split without leaks by (sorted numbers, target)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import digest
from rewardable.tasks.countdown.evaluate import Values, evaluate
from rewardable.tasks.countdown.solve import Solution, reachable_targets, solutions_at
from rewardable.tasks.countdown.steps import step_texts
from rewardable.tasks.countdown.verify import Rule, Style
from rewardable.tasks.options import Span

Split = Literal["train", "test", "all"]

TEST_SHARE = 5
"""One key in so many belongs to the test split."""

_TARGETS_PER_NUMBERS = 4
_DRAWS_WITHOUT_NEWS = {2: 5000, 3: 5000, 4: 3000, 5: 1000, 6: 200}


def split_key(numbers: Sequence[int], target: int) -> str:
    """Return ``"4,7,9|19"``: the same for every order of the numbers."""
    return f"{','.join(map(str, sorted(numbers)))}|{target}"


def is_test_key(key: str) -> bool:
    """Tell whether an instance belongs to the test split; decided by its key alone."""
    return int(digest("countdown-split", key, length=8), 16) % TEST_SHARE == 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """A drawn instance and the solutions that qualify under its rule.

    start: the number that answers must start with, under the rule ``start``.
    """

    numbers: tuple[int, ...]
    target: int
    solutions: tuple[Solution, ...]
    start: int | None = None

    @property
    def key(self) -> str:
        """The split key."""
        return split_key(self.numbers, self.target)

    @property
    def entries(self) -> frozenset[str]:
        """The families with a valid text."""
        return frozenset[str]().union(*(solution.entries for solution in self.solutions))


@dataclass(frozen=True, kw_only=True, slots=True)
class Draw:
    """Which instances are drawn.

    Numbers are uniform in ``values``; the target is then uniform among the qualifying targets of
    these numbers. An instance qualifies by its numbers of solutions and families under the rule.
    """

    numbers: Span = field(default=Span(3, 3))
    values: Span = field(default=Span(1, 20))
    targets: Span = field(default=Span(10, 99))
    solutions: Span = field(default=Span(1, 10**9))
    families: Span = field(default=Span(1, 10**9))
    style: Style = "expression"
    rationals: bool = False
    integers_only: bool = False
    rule: Rule = "any"
    split: Split = "test"

    def __post_init__(self) -> None:
        """Refuse sizes that no solver takes."""
        largest = 5 if self.style == "steps" else 6
        if not 2 <= self.numbers.low <= self.numbers.high <= largest:
            raise ConfigError(
                f"numbers must lie in 2-{largest} in the {self.style} style, got {self.numbers}."
            )
        if self.solutions.low < 1 or self.families.low < 1:
            raise ConfigError("min_solutions and min_families must be at least 1.")

    def instances(self, seed: int) -> Iterator[Instance]:
        """Yield distinct instances for ever; the same seed gives the same sequence.

        Raises
        ------
        DataError: no new instance in thousands of draws (the supply is used up or empty).
        """
        rng = random.Random(f"countdown {seed}")
        seen: set[str] = set()
        misses = 0
        while misses < _DRAWS_WITHOUT_NEWS[self.numbers.high]:
            instance = self._draw(rng, seen)
            misses = 0 if instance else misses + 1
            if instance:
                seen.add(instance.key)
                yield instance
        raise DataError(
            f"found {len(seen)} distinct Countdown instances (numbers={self.numbers}, "
            f"values={self.values}, targets={self.targets}, min_solutions={self.solutions.low}, "
            f"min_families={self.families.low}, rule={self.rule}, split={self.split}), then none "
            f"in {misses} draws. Ask for fewer, or widen the ranges."
        )

    def _draw(self, rng: random.Random, seen: set[str]) -> Instance | None:
        size = rng.randint(self.numbers.low, self.numbers.high)
        numbers = tuple(rng.randint(self.values.low, self.values.high) for _ in range(size))
        values = evaluate(numbers)
        targets, counts = reachable_targets(values, self.targets.low, self.targets.high)
        possible = targets[counts >= self.solutions.low].tolist()
        rng.shuffle(possible)
        for target in possible[:_TARGETS_PER_NUMBERS]:
            key = split_key(numbers, target)
            if key not in seen and self._in_split(key):
                instance = self._instance(numbers, values, target)
                if self._qualifies(instance):
                    return instance
        return None

    def _in_split(self, key: str) -> bool:
        return self.split == "all" or is_test_key(key) == (self.split == "test")

    def _qualifies(self, instance: Instance) -> bool:
        solutions, families = len(instance.solutions), len(instance.entries)
        return (
            self.solutions.low <= solutions <= self.solutions.high
            and self.families.low <= families <= self.families.high
        )

    def _instance(self, numbers: tuple[int, ...], values: Values, target: int) -> Instance:
        if self.style == "steps":
            solutions = _solutions_of_steps(numbers, target, self.rationals)
        else:
            solutions = solutions_at(numbers, values, target, integers_only=self.integers_only)
        ordered = tuple(sorted(solutions, key=lambda solution: solution.text))
        start = _start(numbers, target, ordered) if self.rule == "start" else None
        kept = qualifying(ordered, self.rule, start)
        return Instance(numbers=numbers, target=target, solutions=kept, start=start)


def qualifying(
    solutions: Sequence[Solution], rule: Rule, start: int | None
) -> tuple[Solution, ...]:
    """Return the solutions with a text under the rule, with the families of those texts alone."""
    if rule == "division":
        return tuple(solution for solution in solutions if "/" in solution.text)
    if rule == "any":
        return tuple(solutions)
    kept: list[Solution] = []
    for solution in solutions:
        entries = frozenset(entry for entry in solution.entries if entry[:-1] == str(start))
        if entries:
            kept.append(Solution(text=solution.text, entries=entries))
    return tuple(kept)


def _start(numbers: Sequence[int], target: int, solutions: Sequence[Solution]) -> int | None:
    """Choose the number to start with, by the instance alone, among those that some text has."""
    starts = sorted({int(entry[:-1]) for solution in solutions for entry in solution.entries})
    if not starts:
        return None
    draw = int(digest("countdown-start", split_key(numbers, target), length=8), 16)
    return starts[draw % len(starts)]


def _solutions_of_steps(
    numbers: Sequence[int], target: int, rationals: bool
) -> frozenset[Solution]:
    entries: dict[str, set[str]] = {}
    for step in step_texts(numbers, target, rationals=rationals):
        entries.setdefault(step.solution, set()).add(step.entry)
    return frozenset(
        Solution(text=text, entries=frozenset(found)) for text, found in entries.items()
    )
