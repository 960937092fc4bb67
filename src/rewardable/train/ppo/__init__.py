"""PPO with a critic and GAE, on accelerate and transformers alone."""

from __future__ import annotations

from rewardable.train.ppo.loop import run_ppo
from rewardable.train.ppo.recipe import PPORecipe

__all__ = ["PPORecipe", "run_ppo"]
