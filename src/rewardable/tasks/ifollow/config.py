"""The instruction tasks: options, and the prompts of IFEval and IFBench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.ifollow.kinds import UNDECIDED
from rewardable.tasks.ifollow.verify import InstructionVerifier, instructions_of
from rewardable.tasks.rows import Row, read_rows, seeded

VERSION = "1"


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """Options of the instruction tasks.

    path: a JSONL file with ``prompt``, ``instruction_id_list`` and ``kwargs``; empty reads the
    hub's copy (needs ``datasets``). mode, score: see ``verify``.
    """

    catalog_name: ClassVar[str]
    hub: ClassVar[str]

    path: str = ""
    mode: Literal["strict", "loose"] = "strict"
    score: Literal["binary", "soft"] = "binary"

    def build(self) -> InstructionTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = InstructionVerifier(base=self.catalog_name, mode=self.mode, score=self.score)
        return InstructionTask(name=self.catalog_name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True)
class IFEval(Instructions):
    """IFEval: 541 prompts with one to three of 25 kinds of instruction."""

    catalog_name: ClassVar[str] = "ifeval"
    hub: ClassVar[str] = "google/IFEval"


@dataclass(frozen=True, kw_only=True)
class IFBench(Instructions):
    """IFBench: 300 prompts with one or two of 58 kinds; those that need a tagger are left out."""

    catalog_name: ClassVar[str] = "ifbench"
    hub: ClassVar[str] = "allenai/IFBench_test"


@dataclass(frozen=True, kw_only=True, slots=True)
class InstructionTask:
    """Prompts; facts hold ``instructions``, ``kwargs``, ``id`` and ``row``."""

    name: str
    verifier: InstructionVerifier
    config: Instructions
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` prompts in a seeded order; a larger count continues the same order.

        Prompts with an instruction of a kind that is not checked are left out, all others are
        read whole: an unknown kind or parameters that cannot be meant stop it.

        Raises
        ------
        DataError: fewer prompts than asked for, or a row that cannot be used.
        MissingExtraError: ``datasets`` is needed and not installed.
        """
        rows = read_rows(self.name, self.config.path, self.config.hub, "train")
        kept = [(i, row) for i, row in enumerate(rows) if not _undecided(row)]
        left_out = len(rows) - len(kept)
        aside = f" ({left_out} with {', '.join(UNDECIDED)} left out)" if left_out else ""
        prompts = [self._prompt(i, row) for i, row in kept]
        return tuple(seeded(prompts, count, seed, self.name, aside))

    def _prompt(self, index: int, row: Row) -> Prompt:
        try:
            facts = {
                "instructions": list(row["instruction_id_list"]),
                "kwargs": [_told(values) for values in row["kwargs"]],
                "id": row.get("key", index),
                "row": index,
            }
            instructions_of(facts)
            return user_prompt(self.name, self.version, str(row["prompt"]), facts)
        except (KeyError, TypeError, ConfigError) as error:
            raise DataError(f"row {index} of {self.name} cannot be used: {error}") from error


def _told(values: Row | None) -> Row:
    return {key: value for key, value in (values or {}).items() if value is not None}


def _undecided(row: Row) -> bool:
    return any(name in UNDECIDED for name in row.get("instruction_id_list") or ())
