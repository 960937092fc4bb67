"""What tasks there are, and what one looks like."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.records import Prompt
from rewardable.tasks import load_task, task_names
from rewardable.tasks.perturb import paraphrased


def task_rows() -> list[tuple[str, ...]]:
    """Return (name, one line) of every task of the catalog."""
    return [(name, line) for name, line in task_names()]


def show_task(spec: str, count: int, seed: int, perturb: int = 0) -> Sequence[Prompt]:
    """Return ``count`` example prompts of a task, each with ``perturb`` paraphrases."""
    task = load_task(spec)
    return paraphrased(task, task.prompts(count, seed), perturb)
