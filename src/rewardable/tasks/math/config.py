r"""The mathematics tasks: options, and the prompts they write.

Every task reads a local file (``path=FILE.jsonl``), a folder that ``datasets`` understands, or the
hub's copy. Another data set is one entry of ``sources.SOURCES``, one subclass here and one row of
the catalog.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rewardable.errors import DataError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.math.compare import Percent
from rewardable.tasks.math.problems import load_problems
from rewardable.tasks.math.sources import SOURCES, Problem
from rewardable.tasks.math.stated import Form, gold_texts
from rewardable.tasks.math.verify import MathVerifier, Policy, Score
from rewardable.tasks.options import spec_of

VERSION = "1"

_BOX = (
    "Solve the problem step by step. Put the final answer in \\boxed{}; if there are several, list "
    "all of them in one box, separated by commas."
)
_HASH = (
    "Solve the problem step by step. End with a line that holds the final answer as a number "
    "after four hash signs: #### N"
)


@dataclass(frozen=True, kw_only=True)
class MathProblems:
    """Options of every mathematics task.

    path: a JSONL file or a folder; empty reads the hub's copy (needs ``datasets``).
    policy, percent, score: see ``verify``. Many references are the bare number of a percentage,
    hence ``either``.
    """

    catalog_name: ClassVar[str]
    form: ClassVar[Form] = "box"
    instruction: ClassVar[str] = _BOX

    path: str = ""
    policy: Policy = "strict"
    percent: Percent = "either"
    score: Score = "binary"

    def build(self) -> MathTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = MathVerifier(
            base=self.catalog_name,
            form=self.form,
            policy=self.policy,
            percent=self.percent,
            score=self.score,
        )
        name = spec_of(self.catalog_name, self, leave_out=("path", "policy", "percent", "score"))
        return MathTask(name=name, verifier=verifier, config=self)

    @property
    def chosen_split(self) -> str:
        """The split that is read where there are several."""
        return SOURCES[self.catalog_name].splits[0]

    def keeps(self, problem: Problem) -> bool:
        """Tell whether a problem belongs to the task under its options."""
        return bool(problem.question)


@dataclass(frozen=True, kw_only=True)
class Gsm8k(MathProblems):
    """GSM8K; the answer stands after ``####`` or in a box. split: ``test`` or ``train``."""

    catalog_name: ClassVar[str] = "gsm8k"
    form: ClassVar[Form] = "hash"
    instruction: ClassVar[str] = _HASH

    policy: Policy = "lenient"
    split: Literal["train", "test"] = "test"

    @property
    def chosen_split(self) -> str:
        """The option."""
        return self.split


@dataclass(frozen=True, kw_only=True)
class Math500(MathProblems):
    """MATH-500; facts hold ``level`` and ``subject``."""

    catalog_name: ClassVar[str] = "math500"


@dataclass(frozen=True, kw_only=True)
class MinervaMath(MathProblems):
    """Minerva Math (undergraduate science); facts hold ``subject``."""

    catalog_name: ClassVar[str] = "minerva-math"


@dataclass(frozen=True, kw_only=True)
class OlympiadBench(MathProblems):
    """OlympiadBench, English text. numerical: only answers that are one number or several."""

    catalog_name: ClassVar[str] = "olympiadbench"

    numerical: bool = False

    def keeps(self, problem: Problem) -> bool:
        """Drop expressions, tuples and intervals where only numbers are wanted."""
        return not self.numerical or problem.facts.get("kind") == "Numerical"


@dataclass(frozen=True, kw_only=True)
class Amc23(MathProblems):
    """AMC 12 of 2023, integer answers."""

    catalog_name: ClassVar[str] = "amc23"


@dataclass(frozen=True, kw_only=True)
class Aime24(MathProblems):
    """AIME of 2024, integers from 0 to 999."""

    catalog_name: ClassVar[str] = "aime24"


@dataclass(frozen=True, kw_only=True)
class Aime25(MathProblems):
    """AIME of 2025, integers from 0 to 999."""

    catalog_name: ClassVar[str] = "aime25"


@dataclass(frozen=True, kw_only=True, slots=True)
class MathTask:
    """Problems of one data set; facts hold ``answer``, ``row`` and what the data set says."""

    name: str
    verifier: MathVerifier
    config: MathProblems
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` problems in a seeded order; a larger count continues the same order.

        Raises
        ------
        DataError: fewer problems than asked for, or a row without question and answer.
        MissingExtraError: ``datasets`` is needed and not installed.
        """
        config = self.config
        loaded = load_problems(config.catalog_name, config.path, config.chosen_split)
        kept = [(i, problem) for i, problem in enumerate(loaded) if config.keeps(problem)]
        if count > len(kept):
            raise DataError(f"{self.name} has {len(kept)} problems, {count} were asked for.")
        rng = random.Random(f"{config.catalog_name} {seed}")
        order: dict[int, None] = {}
        while len(order) < count:
            order[rng.randrange(len(kept))] = None
        return tuple(self._prompt(*kept[i]) for i in order)

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the reference in the form that is asked for."""
        return gold_texts(str(prompt.facts["answer"]), self.config.form)

    def _prompt(self, row: int, problem: Problem) -> Prompt:
        text = f"{problem.question}\n\n{self.config.instruction}"
        facts = {"answer": problem.answer, "row": row, **problem.facts}
        return user_prompt(self.name, self.version, text, facts)
