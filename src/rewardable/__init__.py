"""Tell what an RLVR run did to the successes that a policy can still reach.

``measure``, ``locate``, ``guard``, ``restore``: the parts are sub-packages and are imported by
name; this root holds the shared words alone and loads neither torch nor pyarrow.
"""

from __future__ import annotations

from rewardable.errors import RewardableError, UserError
from rewardable.records import Outcome, Policy, Prompt, Rollout, SamplingSpec, Verdict
from rewardable.results import Estimate, Table

__version__ = "0.1.0"

__all__ = [
    "Estimate",
    "Outcome",
    "Policy",
    "Prompt",
    "RewardableError",
    "Rollout",
    "SamplingSpec",
    "Table",
    "UserError",
    "Verdict",
    "__version__",
]
