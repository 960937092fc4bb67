"""Train by a recipe file: checkpoints, logs, rollouts, and the audit of the series."""

from __future__ import annotations

from rewardable.workflows.training.guarded import guard_said
from rewardable.workflows.training.plan import (
    AuditPlan,
    LogPlan,
    TrainPlan,
    check_names,
    read_file,
    train_plan,
)
from rewardable.workflows.training.run import TrainResult, train
from rewardable.workflows.training.staged import STAGED, train_staged

__all__ = [
    "STAGED",
    "AuditPlan",
    "LogPlan",
    "TrainPlan",
    "TrainResult",
    "check_names",
    "guard_said",
    "read_file",
    "train",
    "train_plan",
    "train_staged",
]
