"""GSM8K from a local JSONL file (fields ``question``, ``answer``) or from the hub."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rewardable.errors import DataError, MissingExtraError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.final_answer import FinalAnswerVerifier, Percent, Policy
from rewardable.tasks.options import spec_of

VERSION = "1"
_INSTRUCTION = (
    "Solve the problem step by step. End with a line that holds the final answer as a number "
    "after four hash signs: #### N"
)


@dataclass(frozen=True, kw_only=True)
class Gsm8k:
    """Options of the GSM8K task.

    path: a JSONL file; empty reads ``openai/gsm8k`` from the hub (needs ``datasets``).
    split: of the hub's copy. policy, percent: see ``final_answer``; many references are the bare
    number of a percentage, hence ``either``.
    """

    path: str = ""
    split: Literal["train", "test"] = "test"
    policy: Policy = "lenient"
    percent: Percent = "either"

    def build(self) -> Gsm8kTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = FinalAnswerVerifier(base="gsm8k", policy=self.policy, percent=self.percent)
        name = spec_of("gsm8k", self, leave_out=("path", "policy", "percent"))
        return Gsm8kTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gsm8kTask:
    """GSM8K prompts; facts hold the reference (``answer``) and the row."""

    name: str
    verifier: FinalAnswerVerifier
    config: Gsm8k
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` problems in a seeded order; a larger count continues the same order.

        Raises
        ------
        DataError: fewer problems than asked for, or a row without question and reference.
        MissingExtraError: no path given and ``datasets`` is not installed.
        """
        rows = _read(Path(self.config.path)) if self.config.path else _download(self.config.split)
        if count > len(rows):
            raise DataError(f"{self.name} has {len(rows)} problems, {count} were asked for.")
        order = random.Random(f"gsm8k {seed}").sample(range(len(rows)), count)
        return tuple(self._prompt(rows[i], i) for i in order)

    def _prompt(self, row: dict[str, Any], index: int) -> Prompt:
        question, answer = row.get("question"), row.get("answer")
        gold = str(answer).rpartition("####")[2].strip().replace(",", "")
        if not question or answer is None or not gold:
            raise DataError(f"row {index} of {self.name} needs question and answer, got {row!r}.")
        text = f"{str(question).strip()}\n\n{_INSTRUCTION}"
        return user_prompt(self.name, self.version, text, {"answer": gold, "row": index})


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read {path} as JSONL ({error}); pass path=FILE with one object a line, "
            "fields question and answer."
        ) from error


def _download(split: str) -> list[dict[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError(
            "gsm8k from the hub needs `datasets`: pip install 'rewardable[train]', or pass "
            "gsm8k:path=FILE.jsonl."
        ) from error
    return [dict(row) for row in load_dataset("openai/gsm8k", "main", split=split)]
