"""Texts to learn from: gold answers and graded rollouts. No torch here."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from rewardable.errors import ConfigError, DataError
from rewardable.protocols import GoldSource, Task
from rewardable.records import Outcome, Prompt, Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class TextRow:
    """A prompt and a response to imitate."""

    prompt: Prompt
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class GradedRow:
    """A rollout with its verdict.

    token_ids: as they were drawn, end token included, if the trained policy has the same
    tokenizer; empty: the text is tokenised. truncated: it ended at the token limit, so no end
    token is taught.
    """

    prompt: Prompt
    text: str
    verdict: Verdict
    token_ids: tuple[int, ...] = ()
    truncated: bool = False


@runtime_checkable
class SolutionSource(Protocol):
    """A task that writes right answers spread over the solutions of a prompt."""

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        """Return up to ``count`` right answers, one of each solution before a second of any."""
        ...


def gold_rows(
    task: Task, prompts: Iterable[Prompt], per_prompt: int, seed: int
) -> tuple[TextRow, ...]:
    """Return up to ``per_prompt`` right answers of every prompt, spread over its solutions.

    Where the task cannot tell solutions apart, a seeded draw of its gold answers.

    Raises
    ------
    ConfigError: the task writes no right answers.
    DataError: it writes none to any of these prompts.
    """
    if not isinstance(task, GoldSource):
        raise ConfigError(
            f"task {task.name} writes no right answers (no gold_answers); give rows: graded "
            "correct rollouts or texts of your own."
        )
    rows = [
        TextRow(prompt=prompt, text=text)
        for prompt in prompts
        for text in _answers(task, prompt, per_prompt, seed)
    ]
    if not rows:
        raise DataError(f"task {task.name} has no right answer to any of its prompts; give rows.")
    return tuple(rows)


def _answers(task: GoldSource, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
    if isinstance(task, SolutionSource):
        found = task.solution_texts(prompt, count, seed)
        if found:
            return found
    texts = list(dict.fromkeys(task.gold_answers(prompt)))
    return random.Random(f"gold {seed} {prompt.key}").sample(texts, min(count, len(texts)))


def correct_rows(graded: Iterable[GradedRow]) -> tuple[TextRow, ...]:
    """Return the CORRECT and finished ones to imitate; UNGRADED ones are in none.

    Raises
    ------
    DataError: there is none.
    """
    rows = list(graded)
    kept = tuple(
        TextRow(prompt=row.prompt, text=row.text)
        for row in rows
        if row.verdict.outcome is Outcome.CORRECT and not row.truncated
    )
    if not kept:
        raise DataError(
            f"none of {len(rows)} rollouts is CORRECT and finished; nothing to imitate."
        )
    return kept
