"""Prompts for the search and others for the proof: no text is in both, none was trained on."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import DataError, UserError
from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.tasks import load_task

CONFIRMATION, SELECTION = 0, 1
"""Added to the seed of the prompts."""
RECIPE = "recipe.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits:
    """``confirmation`` is what ``task.prompts(len(confirmation), seed)`` gives, so that an
    ordinary audit draws it; ``selection`` holds others, in a fixed order.
    """

    selection: tuple[Prompt, ...]
    confirmation: tuple[Prompt, ...]
    notes: tuple[str, ...]


def split_prompts(
    task: Task, selection: int, confirmation: int, seed: int, trained: str = ""
) -> Splits:
    """Draw both splits.

    Raises DataError when the task has too few prompts, or when prompts of the confirmation are
    among those that the trained checkpoint's recipe says it was trained on.
    """
    proof = tuple(task.prompts(confirmation, seed + CONFIRMATION))
    taught, told = _taught(trained)
    seen = sorted({prompt.text for prompt in proof} & taught)
    if seen:
        raise DataError(
            f"{len(seen)} of {len(proof)} prompts of {task.name} were trained on, for example "
            f"{seen[0][:80]!r}; use a split of the task that training did not see."
        )
    avoid = {prompt.text for prompt in proof} | taught
    found = _others(task, selection, avoid, seed + SELECTION)
    return Splits(selection=found, confirmation=proof, notes=(*told, *_split_note(task.name)))


def _others(task: Task, count: int, avoid: set[str], seed: int) -> tuple[Prompt, ...]:
    asked = count + len(avoid)
    for size in (2 * count, asked):
        if size > asked:
            continue
        rows = [p for p in task.prompts(size, seed) if p.text not in avoid]
        if len(rows) >= count:
            return tuple(rows[:count])
    raise DataError(
        f"{task.name} has fewer than {count} prompts beside those of the confirmation and of "
        "training; ask for fewer prompts."
    )


def _taught(trained: str) -> tuple[set[str], Sequence[str]]:
    """Return the texts that the recipe beside the checkpoint trained on, and what is known."""
    path = Path(trained).parent / RECIPE
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        task = load_task(raw["task"])
        count, seed = int(raw["recipe"]["train_prompts"]), int(raw["seed"])
        texts = {prompt.text for prompt in task.prompts(count, seed)}
    except (OSError, ValueError, KeyError, TypeError, UserError):
        note = "Which prompts the checkpoint was trained on is not recorded beside it."
        return set(), [note]
    return texts, [f"None of the {len(texts)} prompts of {path} is in a split."]


def _split_note(name: str) -> Sequence[str]:
    if "split=train" in name or "split=all" in name:
        return [f"{name} may hold prompts of training; split=test does not."]
    return []
