"""Forward chaining in steps: facts, rules, a goal; every written step is checked."""

from __future__ import annotations

from rewardable.tasks.logic.config import LogicSteps

__all__ = ["LogicSteps"]
