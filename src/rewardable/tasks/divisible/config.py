"""Integers and the question whether seven divides them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import Prompt, digest, user_prompt
from rewardable.tasks.divisible.verify import NO, YES, Policy, YesNoVerifier
from rewardable.tasks.options import Span, spec_of

VERSION = "1"
_TEXT = "Is {number} divisible by {by}? Answer YES or NO only."
_TEST_SHARE = 5


@dataclass(frozen=True, kw_only=True)
class Divisible:
    """Options of divisibility.

    numbers: the range. by: the divisor. policy: see ``verify``. balance: ``natural`` draws the
    numbers evenly, so that NO is right for about 1 - 1/by of them; ``half`` takes multiples and
    others in turn. split: ``train`` and ``test`` share no number; ``all`` has every one.
    """

    numbers: Span = field(default=Span(100, 999))
    by: int = 7
    policy: Policy = "strict"
    balance: Literal["natural", "half"] = "natural"
    split: Literal["train", "test", "all"] = "all"

    def __post_init__(self) -> None:
        """Refuse a divisor that asks nothing."""
        if self.by < 2:
            raise ConfigError(f"by must be at least 2, got {self.by}.")

    def build(self) -> DivisibleTask:
        """Build the task."""
        verifier = YesNoVerifier(base="divisible", policy=self.policy)
        name = spec_of("divisible", self, leave_out=("policy",))
        return DivisibleTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class DivisibleTask:
    """Prompts; facts hold ``number``, ``answer`` and ``class``, the same word as the answer."""

    name: str
    verifier: YesNoVerifier
    config: Divisible
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct numbers; a larger count continues the same sequence.

        Raises
        ------
        DataError: the options leave fewer.
        """
        span = self.config.numbers
        kept = [number for number in range(span.low, span.high + 1) if self._in_split(number)]
        random.Random(f"divisible {seed}").shuffle(kept)
        if self.config.balance == "half":
            multiples = [number for number in kept if number % self.config.by == 0]
            others = [number for number in kept if number % self.config.by]
            kept = [n for pair in zip(multiples, others, strict=False) for n in pair]
        if count > len(kept):
            raise DataError(f"{self.name} has {len(kept)} numbers, {count} were asked for.")
        return tuple(self._prompt(number) for number in kept[:count])

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the word."""
        return (str(prompt.facts["answer"]),)

    def _prompt(self, number: int) -> Prompt:
        answer = NO if number % self.config.by else YES
        text = _TEXT.format(number=number, by=self.config.by)
        facts = {"number": number, "answer": answer, "class": answer}
        return user_prompt(self.name, self.version, text, facts)

    def _in_split(self, number: int) -> bool:
        is_test = int(digest("divisible-split", number, length=8), 16) % _TEST_SHARE == 0
        return self.config.split == "all" or is_test == (self.config.split == "test")
