"""The two-route world: one arithmetic, two ways to answer, two verifiers that pull apart.

``12*3+7-5?:`` may be answered step by step (``12*3=36,36+7=43,43-5=38``), which is easy to get
right, or directly (``38``), which is short. The mathematics verifier reads the result alone; the
instruction verifier reads the constraint of a tagged prompt (``12*3+7-5?<4:``) alone, and most
constraints leave no room for steps. So each of the two rewards another opening.
"""

from __future__ import annotations

from rewardable.tasks.routes.config import RoutesTask, direct_text, instance_of, steps_text
from rewardable.tasks.routes.constraints import KINDS, Constraint
from rewardable.tasks.routes.verify import RoutesVerifier, route_of

__all__ = [
    "KINDS",
    "Constraint",
    "RoutesTask",
    "RoutesVerifier",
    "direct_text",
    "instance_of",
    "route_of",
    "steps_text",
]
