"""The joint tasks: MathIF, ReasonIF, and any two tasks of the catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import Json, Prompt, user_prompt
from rewardable.tasks.catalog import load_task
from rewardable.tasks.ifollow.verify import InstructionVerifier, instructions_of
from rewardable.tasks.joint.answers import CHOICE, NUMBER, BoxVerifier, TagVerifier
from rewardable.tasks.joint.pair import JointTask, joint
from rewardable.tasks.joint.verify import Half, JointVerifier
from rewardable.tasks.math.verify import MathVerifier
from rewardable.tasks.options import spec_of
from rewardable.tasks.rows import Row, read_rows, seeded

VERSION = "1"
ANSWER, CONSTRAINT = "answer", "constraint"

_BOX = "Let's think step by step and put the final answer in \\boxed{}."
_WORDS = "length_constraints:number_words"
_SAME = {
    "length_constraint_checkers:number_words": _WORDS,
    "language:reasoning_language": "language:response_language",
}
"""Names of the data sets for kinds that have another name here."""


@dataclass(frozen=True, kw_only=True)
class Joint:
    """Options of a pair: ``joint:a=gsm8k,b=constraints``.

    a, b: specs of the tasks; a comma inside one is written ``;``. shown, score, weight: see
    ``pair.joint``.
    """

    a: str = "word-problems"
    b: str = "constraints"
    shown: Literal["both", "first"] = "both"
    score: Literal["binary", "soft"] = "binary"
    weight: float = 0.5

    def build(self) -> JointTask:
        """Build the task.

        Raises
        ------
        ConfigError: a pair of pairs, or a task that cannot be built.
        """
        first, second = (load_task(spec.replace(";", ",")) for spec in (self.a, self.b))
        if isinstance(first, JointTask) or isinstance(second, JointTask):
            raise ConfigError("a joint task takes two tasks that are not joint themselves.")
        name = spec_of("joint", self, leave_out=("score", "weight"))
        return joint(
            first, second, name=name, shown=self.shown, score=self.score, weight=self.weight
        )


@dataclass(frozen=True, kw_only=True)
class JointRows(ABC):
    """Options of MathIF and ReasonIF.

    path: a file or folder of JSON rows; empty reads the hub's copy (needs ``datasets``).
    mode: of the constraints. policy: where the answer may stand.
    score: ``soft`` weighs the answer (``weight``) and the share of the constraints that hold.
    """

    catalog_name: ClassVar[str]
    hub: ClassVar[str]

    path: str = ""
    mode: Literal["strict", "loose"] = "strict"
    policy: Literal["strict", "lenient"] = "lenient"
    score: Literal["binary", "soft"] = "binary"
    weight: float = 0.5

    def build(self) -> JointRowsTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = JointVerifier(
            base=self.catalog_name,
            first=Half(part=ANSWER, verifier=self.answers()),
            second=Half(part=CONSTRAINT, verifier=self.constraints()),
            score=self.score,
            weight=self.weight,
        )
        return JointRowsTask(name=self.catalog_name, verifier=verifier, config=self)

    @abstractmethod
    def answers(self) -> BoxVerifier | TagVerifier:
        """Return the verifier of the answer."""

    def constraints(self) -> InstructionVerifier:
        """Return the verifier of the constraints."""
        return InstructionVerifier(base=self.catalog_name, mode=self.mode, score=self.score)

    @abstractmethod
    def text(self, row: Row) -> str:
        """Return the prompt of a row."""

    def facts(self, row: Row) -> dict[str, Json]:
        """Return what else is known of a row."""
        return {"id": row["id"]} if "id" in row else {}


@dataclass(frozen=True, kw_only=True)
class MathIF(JointRows):
    """MathIF: 420 problems with one to three constraints on the response."""

    catalog_name: ClassVar[str] = "mathif"
    hub: ClassVar[str] = "TingchenFu/MathIF"

    def answers(self) -> BoxVerifier:
        """Read the box as the mathematics tasks do."""
        inner = MathVerifier(base="mathif-answer", policy=self.policy, percent="either")
        return BoxVerifier(inner=inner)

    def text(self, row: Row) -> str:
        """Write the question, the request for a box, and the constraints."""
        return "\n\n".join([str(row["question"]), _BOX, "\n".join(row["constraint_desc"])])


@dataclass(frozen=True, kw_only=True)
class ReasonIF(JointRows):
    """ReasonIF: questions with a constraint on the reasoning, not on the answer."""

    catalog_name: ClassVar[str] = "reasonif"
    hub: ClassVar[str] = "ykwon-hf/reasonIF"

    def answers(self) -> TagVerifier:
        """Read the ``<answer>`` tag."""
        return TagVerifier(policy=self.policy)

    def constraints(self) -> InstructionVerifier:
        """Judge the reasoning part alone."""
        return InstructionVerifier(
            base=self.catalog_name, mode=self.mode, scope="reasoning", score=self.score
        )

    def text(self, row: Row) -> str:
        """Return the prompt as published."""
        return str(row["prompt"])

    def facts(self, row: Row) -> dict[str, Json]:
        """Tell letters from numbers."""
        choice = str(row["answer"]).strip() in tuple("ABCDE")
        return {"kind": CHOICE if choice else NUMBER}


@dataclass(frozen=True, kw_only=True, slots=True)
class JointRowsTask:
    """Prompts; facts hold ``answer``, ``instructions``, ``kwargs``, ``source`` and ``row``."""

    name: str
    verifier: JointVerifier
    config: JointRows
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` prompts in a seeded order; a larger count continues the same order.

        Raises
        ------
        DataError: fewer prompts than asked for, or a row that cannot be used.
        MissingExtraError: ``datasets`` is needed and not installed.
        """
        rows = read_rows(self.name, self.config.path, self.config.hub, "train")
        prompts = [self._prompt(i, row) for i, row in enumerate(rows)]
        distinct = list({prompt.key: prompt for prompt in prompts}.values())
        return tuple(seeded(distinct, count, seed, self.name))

    def _prompt(self, index: int, row: Row) -> Prompt:
        try:
            names = [_SAME.get(name, name) for name in map(str, row["constraint_name"])]
            given = zip(names, row["constraint_args"], strict=True)
            facts = {
                "answer": str(row["answer"]).strip(),
                "instructions": names,
                "kwargs": [_told(name, values) for name, values in given],
                "source": row["source"],
                "row": index,
                **self.config.facts(row),
            }
            instructions_of(facts)
            return user_prompt(self.name, self.version, self.config.text(row), facts)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"row {index} of {self.name} cannot be used: {error}") from error


def _told(name: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    told = {key: value for key, value in (values or {}).items() if value is not None}
    if name == _WORDS and "relation" not in told:
        told["relation"] = "less than"
    return told
