"""HumanEval-style problems from a local file or the hub; rows with a prompt, tests, entry point."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rewardable.errors import ConfigError, DataError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.code.verify import CodeVerifier
from rewardable.tasks.options import spec_of
from rewardable.tasks.rows import Row, read_rows, seeded

VERSION = "1"
HUB = "openai/openai_humaneval"
_FIELDS = ("prompt", "test", "entry_point")
_STYLES = {
    "chat": "Complete this Python function. Reply with the whole function in one code block.\n\n"
    "```python\n{code}```",
    "plain": "{code}",
}


@dataclass(frozen=True, kw_only=True)
class HumanEval:
    """Options of unit-tested code.

    path: JSONL, gzipped or not, with ``prompt``, ``test``, ``entry_point`` (and ``task_id``);
    empty reads ``openai/openai_humaneval`` from the hub (needs ``datasets``).
    style: ``chat`` asks for the function; ``plain`` is the code to go on with.
    timeout_s, memory_mb: limits of a solution. in_place: tests see what a call does to its
    arguments. network: ``closed`` runs nothing where the network cannot be closed.
    """

    path: str = ""
    style: Literal["chat", "plain"] = "chat"
    timeout_s: float = 5.0
    memory_mb: int = 512
    in_place: bool = False
    network: Literal["closed", "any"] = "closed"

    def __post_init__(self) -> None:
        """Refuse limits under which nothing can run."""
        if not self.timeout_s > 0 or self.memory_mb < 64:
            raise ConfigError(
                f"a solution needs timeout_s > 0 and memory_mb >= 64, got {self.timeout_s:g} and "
                f"{self.memory_mb}."
            )

    def build(self) -> HumanEvalTask:
        """Build the task; nothing is read before prompts are asked for."""
        verifier = CodeVerifier(
            base="humaneval",
            timeout_s=self.timeout_s,
            memory_mb=self.memory_mb,
            in_place=self.in_place,
            require=("network",) if self.network == "closed" else (),
        )
        left_out = ("path", "timeout_s", "memory_mb", "in_place", "network")
        name = spec_of("humaneval", self, leave_out=left_out)
        return HumanEvalTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class HumanEvalTask:
    """Problems; facts hold ``code`` (the prompt's), ``tests``, ``entry_point`` and ``source``."""

    name: str
    verifier: CodeVerifier
    config: HumanEval
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` problems in a seeded order; a larger count continues the same order.

        Raises
        ------
        DataError: fewer problems than asked for, or a row without its fields.
        MissingExtraError: no path given and ``datasets`` is not installed.
        """
        rows = list(enumerate(read_problems(self.config.path)))
        order = seeded(rows, count, seed, self.name)
        return tuple(self.prompt(row, index) for index, row in order)

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the problem's canonical solution, nothing where its row has none."""
        rows = enumerate(read_problems(self.config.path))
        solutions = {str(row.get("task_id", i)): row.get("canonical_solution") for i, row in rows}
        body = solutions.get(str(prompt.facts["source"]))
        return (f"```python\n{prompt.facts['code']}{body}\n```",) if body else ()

    def prompt(self, row: Row, index: int) -> Prompt:
        """Return the prompt of one row."""
        missing = [name for name in _FIELDS if not isinstance(row.get(name), str)]
        if missing:
            raise DataError(f"row {index} of {self.name} lacks {', '.join(missing)}.")
        facts = {
            "code": row["prompt"],
            "tests": row["test"],
            "entry_point": row["entry_point"],
            "source": str(row.get("task_id", index)),
        }
        text = _STYLES[self.config.style].format(code=row["prompt"])
        return user_prompt(self.name, self.version, text, facts)


def read_problems(path: str) -> list[Row]:
    """Read a JSONL file, gzipped when its name ends in ``.gz``, or the hub's copy for no path."""
    if not path.endswith(".gz"):
        return read_rows("humaneval", path, HUB, "test")
    try:
        text = gzip.decompress(Path(path).read_bytes()).decode("utf-8")
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise DataError(
            f"cannot read {path} as gzipped JSONL ({error}); pass path=FILE with one object a "
            f"line, fields {', '.join(_FIELDS)}."
        ) from error
