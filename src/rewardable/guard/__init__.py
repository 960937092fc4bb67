"""Notices, during a run, that support on future tasks is being lost. No trainer in sight.

>>> from rewardable.guard import Guard, GuardConfig, Observation
>>> guard = Guard(GuardConfig(allowed=("raise_kl", "roll_back")))
>>> guard.observe(Observation(step=1, metrics={"entropy": 0.4})).state
'ok'
"""

from __future__ import annotations

from rewardable.guard.config import GuardConfig
from rewardable.guard.decide import Guard
from rewardable.guard.decision import ACTIONS, Action, Decision, Evidence, Notice, State
from rewardable.guard.names import ALIASES, SIGNALS
from rewardable.guard.observation import Audit, Metric, Observation, PromptAudit
from rewardable.guard.record import RunMeta, line_of, parse_line
from rewardable.guard.remedies import REMEDIES, Remedy

__all__ = [
    "ACTIONS",
    "ALIASES",
    "REMEDIES",
    "SIGNALS",
    "Action",
    "Audit",
    "Decision",
    "Evidence",
    "Guard",
    "GuardConfig",
    "Metric",
    "Notice",
    "Observation",
    "PromptAudit",
    "Remedy",
    "RunMeta",
    "State",
    "line_of",
    "parse_line",
]
