"""The search for a policy that keeps what training gained and regains what it lost."""

from __future__ import annotations

from rewardable.workflows.restoring.config import (
    Objective,
    RestoreConfig,
    parse_keep,
    parse_objective,
)
from rewardable.workflows.restoring.run import RestoreResult, restore

__all__ = [
    "Objective",
    "RestoreConfig",
    "RestoreResult",
    "parse_keep",
    "parse_objective",
    "restore",
]
