"""What a training run is told, and what it tells after each step."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewardable.errors import ConfigError
from rewardable.train.shaping import RewardConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class GRPORecipe:
    """GRPO with rewards from verdicts; UNGRADED answers are left out.

    steps: optimiser steps. prompts_per_step, group_size: each step samples
    ``prompts_per_step * group_size`` completions. train_prompts: size of the prompt pool.
    kl_coefficient: weight of the reference KL; 0 builds no reference model.
    save_every: a checkpoint every so many steps (the last step is always saved).
    micro_batch: completions a forward-backward pass takes at once; 0 means all.
    bf16: mixed precision with float32 master weights, also on processors that have it.
    reward: what verdicts pay; by default CORRECT 1 and WRONG 0.
    """

    steps: int = 100
    prompts_per_step: int = 32
    group_size: int = 16
    learning_rate: float = 1e-4
    kl_coefficient: float = 0.0
    temperature: float = 1.0
    max_new_tokens: int = 64
    train_prompts: int = 2048
    save_every: int = 50
    micro_batch: int = 0
    bf16: bool = False
    seed: int = 0
    reward: RewardConfig = field(default_factory=RewardConfig)

    def __post_init__(self) -> None:
        """Refuse recipes that cannot be meant with a ConfigError."""
        for name in ("steps", "prompts_per_step", "train_prompts", "save_every", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.group_size < 2:
            raise ConfigError(f"group_size must be at least 2, got {self.group_size}.")
        if self.micro_batch and self.rollouts_per_step % self.micro_batch:
            raise ConfigError(
                f"micro_batch ({self.micro_batch}) must divide prompts_per_step * group_size "
                f"({self.rollouts_per_step})."
            )

    @property
    def rollouts_per_step(self) -> int:
        """Completions sampled for one optimiser step."""
        return self.prompts_per_step * self.group_size


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One line of training progress. ``reward`` is the mean verdict reward of the step."""

    step: int
    total: int
    reward: float | None
    seconds: float
