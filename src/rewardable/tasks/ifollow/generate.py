"""Constraints without a request: one sentence each, to be set below another task's prompt."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.ifollow.verify import InstructionVerifier
from rewardable.tasks.options import Span, spec_of

VERSION = "1"
NAME = "constraints"

Draw = Callable[[random.Random], tuple[str, dict[str, Any]]]

_LIST = "answer because check first next number result simple step table therefore total"
_WORDS = _LIST.split()
_PHRASES = ("That is all.", "End of answer.", "I am done.", "Thank you for asking.")


def _fixed(text: str) -> Draw:
    return lambda _: (text, {})


def _words(rng: random.Random) -> tuple[str, dict[str, Any]]:
    relation, limit = rng.choice(("less than", "at least")), rng.randrange(10, 121, 5)
    return f"Answer with {relation} {limit} words.", {"relation": relation, "num_words": limit}


def _bullets(rng: random.Random) -> tuple[str, dict[str, Any]]:
    count = rng.randint(1, 6)
    text = f"Write exactly {count} bullet points, each on a line that begins with an asterisk."
    return text, {"num_bullets": count}


def _keywords(rng: random.Random) -> tuple[str, dict[str, Any]]:
    words = sorted(rng.sample(_WORDS, 2))
    return f"Use the words {words[0]} and {words[1]}.", {"keywords": words}


def _forbidden(rng: random.Random) -> tuple[str, dict[str, Any]]:
    words = sorted(rng.sample(_WORDS, 2))
    return f"Do not use the words {words[0]} and {words[1]}.", {"forbidden_words": words}


def _ending(rng: random.Random) -> tuple[str, dict[str, Any]]:
    phrase = rng.choice(_PHRASES)
    return f'End with the sentence "{phrase}" and nothing behind it.', {"end_phrase": phrase}


def _letters(rng: random.Random) -> tuple[str, dict[str, Any]]:
    letter, least = rng.choice("bcdfghlmprstwy"), rng.randint(2, 12)
    values = {"letter": letter, "let_relation": "at least", "let_frequency": least}
    return f"The letter {letter} must occur at least {least} times.", values


_DRAWS: dict[str, Draw] = {
    "punctuation:no_comma": _fixed("Do not use any comma."),
    "change_case:english_lowercase": _fixed("Answer in English and in small letters only."),
    "change_case:english_capital": _fixed("Answer in English and in capital letters only."),
    "startend:quotation": _fixed("Put your whole answer in double quotation marks."),
    "detectable_format:title": _fixed("Give your answer a title in <<double angle brackets>>."),
    "length_constraints:number_words": _words,
    "detectable_format:number_bullet_lists": _bullets,
    "keywords:existence": _keywords,
    "keywords:forbidden_words": _forbidden,
    "startend:end_checker": _ending,
    "keywords:letter_frequency": _letters,
}


_NEVER_TOGETHER = (
    {"change_case:english_lowercase", "change_case:english_capital"},
    {"keywords:existence", "keywords:forbidden_words"},
)


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Options of the constraint sentences. each: how many a prompt has, of different kinds."""

    each: Span = field(default=Span(1, 2))
    mode: Literal["strict", "loose"] = "strict"
    score: Literal["binary", "soft"] = "binary"

    def __post_init__(self) -> None:
        """Refuse prompts without a constraint, and more than fit together."""
        if not 1 <= self.each.low <= self.each.high <= 4:
            raise ConfigError(f"each must lie within 1-4, got {self.each}.")

    def build(self) -> ConstraintTask:
        """Build the task."""
        verifier = InstructionVerifier(base=NAME, mode=self.mode, score=self.score)
        name = spec_of(NAME, self, leave_out=("mode", "score"))
        return ConstraintTask(name=name, verifier=verifier, each=self.each)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintTask:
    """Prompts; facts hold ``instructions`` and ``kwargs``."""

    name: str
    verifier: InstructionVerifier
    each: Span
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same order.

        Raises
        ------
        DataError: there are not so many.
        """
        rng = random.Random(f"{self.name} {seed}")
        found: dict[str, Prompt] = {}
        for _ in range(20 * count + 100):
            if len(found) == count:
                break
            prompt = self._draw(rng)
            found.setdefault(prompt.text, prompt)
        if len(found) < count:
            raise DataError(
                f"{self.name} gave {len(found)} prompts, {count} were asked for; a larger `each` "
                "has more."
            )
        return tuple(found.values())

    def _draw(self, rng: random.Random) -> Prompt:
        kinds = _kinds(rng, rng.randint(self.each.low, self.each.high))
        drawn = [_DRAWS[kind](rng) for kind in kinds]
        facts = {"instructions": kinds, "kwargs": [values for _, values in drawn]}
        text = " ".join(sentence for sentence, _ in drawn)
        return user_prompt(self.name, self.version, text, facts)


def _kinds(rng: random.Random, count: int) -> list[str]:
    while True:
        kinds = rng.sample(sorted(_DRAWS), count)
        if not any(pair <= set(kinds) for pair in _NEVER_TOGETHER):
            return kinds
