"""A seeded generator of easy word problems with small numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewardable.errors import ConfigError
from rewardable.records import Prompt, digest, user_prompt
from rewardable.tasks.distinct import distinct_prompts
from rewardable.tasks.math.stated import gold_texts
from rewardable.tasks.math.verify import MathVerifier, Policy
from rewardable.tasks.options import Span, spec_of
from rewardable.tasks.words.templates import ITEMS, NAMES, TEMPLATES, Template

VERSION = "1"
TEST_SHARE = 5


@dataclass(frozen=True, kw_only=True)
class WordProblems:
    """Options of the word problems.

    steps: how many operations, 1 to 2. values: range of the numbers. policy: see
    ``math.verify``. split: ``train`` and ``test`` share no (template, numbers).
    """

    steps: Span = field(default=Span(1, 2))
    values: Span = field(default=Span(2, 10))
    policy: Policy = "lenient"
    split: Literal["train", "test", "all"] = "test"

    def __post_init__(self) -> None:
        """Refuse steps that no template has."""
        if not 1 <= self.steps.low <= self.steps.high <= 2:
            raise ConfigError(f"steps must lie in 1-2, got {self.steps}.")

    def build(self) -> WordProblemsTask:
        """Build the task."""
        verifier = MathVerifier(base="word-problems", form="hash", policy=self.policy)
        name = spec_of("word-problems", self, leave_out=("policy",))
        return WordProblemsTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class WordProblemsTask:
    """Word problems; facts hold ``answer``, ``template``, ``difficulty`` and ``split_key``."""

    name: str
    verifier: MathVerifier
    config: WordProblems
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same sequence.

        Raises
        ------
        DataError: the options do not leave so many problems.
        """
        rng = random.Random(f"word problems {seed}")
        return distinct_prompts(self.name, count, lambda _: self._draw(rng))

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the answer in the forms that are read."""
        return gold_texts(str(prompt.facts["answer"]), "hash")

    def _draw(self, rng: random.Random) -> Prompt | None:
        low, high = self.config.steps.low, self.config.steps.high
        template = rng.choice([t for t in TEMPLATES if low <= t.steps <= high])
        span = self.config.values
        a, b, c = (rng.randint(span.low, span.high) for _ in range(3))
        who, other = rng.sample(NAMES, 2)
        question = template.text.format(a=a, b=b, c=c, who=who, other=other, item=rng.choice(ITEMS))
        answer = template.answer(a, b, c)
        key = _split_key(template, a, b, c)
        if answer < 0 or not self._in_split(key):
            return None
        facts = {
            "answer": str(answer),
            "template": template.name,
            "difficulty": {"steps": template.steps},
            "split_key": key,
        }
        text = f"{question} End with the answer as a number."
        return user_prompt(self.name, self.version, text, facts)

    def _in_split(self, key: str) -> bool:
        is_test = int(digest("word-problems-split", key, length=8), 16) % TEST_SHARE == 0
        return self.config.split == "all" or is_test == (self.config.split == "test")


def _split_key(template: Template, a: int, b: int, c: int) -> str:
    used = (a, b, c) if "{c}" in template.text else (a, b)
    return f"{template.name}|{','.join(map(str, used))}"
