"""Mixing into reinforcement learning: right answers, replayed successes, distillation.

``build_terms(MixConfig(), prompts=..., rows=...)`` gives the parts for a run.
"""

from rewardable.train.mix.config import DistillMix, MixConfig
from rewardable.train.mix.replay import ReplayBuffer, ReplayConfig, Success

__all__ = ["DistillMix", "MixConfig", "ReplayBuffer", "ReplayConfig", "Success"]
