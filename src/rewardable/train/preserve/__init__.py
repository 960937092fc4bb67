"""Ways to keep the support while training, each an option; they compose.

``PreserveConfig`` says which; ``build.build_extras`` makes the parts that a trainer takes. The
configuration and the rules of advantages, schedules, stages and filters need no torch.
"""

from __future__ import annotations

from rewardable.train.preserve.advantages import BalancedConfig, PassAtKConfig, advantage_rule
from rewardable.train.preserve.config import OpeningKLConfig, PreserveConfig, RoutingConfig
from rewardable.train.preserve.filter import TrainabilityBand, trainable_prompts
from rewardable.train.preserve.kl import AdaptiveKLConfig
from rewardable.train.preserve.schedule import SoftSchedule
from rewardable.train.preserve.staged import THREE_ROUNDS, EarlyStopConfig, Stage

__all__ = [
    "THREE_ROUNDS",
    "AdaptiveKLConfig",
    "BalancedConfig",
    "EarlyStopConfig",
    "OpeningKLConfig",
    "PassAtKConfig",
    "PreserveConfig",
    "RoutingConfig",
    "SoftSchedule",
    "Stage",
    "TrainabilityBand",
    "advantage_rule",
    "trainable_prompts",
]
