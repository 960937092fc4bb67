"""Which checkpoint of a run to continue from, and why."""

from __future__ import annotations

from rewardable.workflows.choosing.plan import ChoosePlan, Limits, ProbePlan, plan_of
from rewardable.workflows.choosing.run import ChooseResult, choose

__all__ = ["ChoosePlan", "ChooseResult", "Limits", "ProbePlan", "choose", "plan_of"]
