"""The guard in a trainer: it samples future tasks, watches the logs, and does what it may.

In any TRL script, three lines::

    guard = watch(future_tasks=["countdown"])
    trainer = GRPOTrainer(..., reward_funcs=[guard.reward(my_reward)], callbacks=[guard])
    guard.bind(trainer)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rewardable.train.guarding.config import WatchConfig

__all__ = ["DECISIONS", "OBSERVATIONS", "WatchConfig", "watch"]

OBSERVATIONS, DECISIONS = "guard.jsonl", "guard-decisions.jsonl"
"""What the guard saw, and what it said: files of a run."""


def watch(**options: Any) -> Any:
    """Return a :class:`~rewardable.train.guarding.callback.GuardCallback`; see ``WatchConfig``."""
    return import_module("rewardable.train.guarding.setup").watch(**options)
