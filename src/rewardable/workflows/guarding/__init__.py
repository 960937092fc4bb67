"""What the guard says of a run after the fact, and the timeline of a run."""

from __future__ import annotations

from rewardable.guard import Decision, Evidence, GuardConfig
from rewardable.workflows.guarding.replay import Replay, replay
from rewardable.workflows.guarding.timeline import is_training_run, write_timeline

__all__ = [
    "Decision",
    "Evidence",
    "Replay",
    "guard_config",
    "is_training_run",
    "replay",
    "write_timeline",
]


def guard_config(**options: object) -> GuardConfig:
    """Return the guard's options; ConfigError for an unknown or impossible one."""
    return GuardConfig.from_dict(options)
