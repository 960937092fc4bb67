"""Tasks: prompts, and the verifiers that judge their completions."""

from __future__ import annotations

from rewardable.tasks.catalog import load_task, task_names

__all__ = ["load_task", "task_names"]
