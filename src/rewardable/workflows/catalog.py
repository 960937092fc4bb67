"""What tasks there are, and what one looks like."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.records import Prompt
from rewardable.tasks import load_task, task_names


def task_rows() -> list[tuple[str, ...]]:
    """Return (name, one line) of every task of the catalog."""
    return [(name, line) for name, line in task_names()]


def show_task(spec: str, count: int, seed: int) -> Sequence[Prompt]:
    """Return ``count`` example prompts of a task."""
    return load_task(spec).prompts(count, seed)
