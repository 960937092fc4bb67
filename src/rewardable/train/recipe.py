"""What a training run is told, and what it tells after each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewardable.errors import ConfigError, unknown_name
from rewardable.train.shaping import RewardConfig

OURS = {
    "output_dir": "--out",
    "max_steps": "steps",
    "num_generations": "group_size",
    "seed": "seed",
    "max_completion_length": "max_new_tokens",
    "learning_rate": "learning_rate",
    "temperature": "temperature",
    "save_steps": "save_every",
}
"""Trainer settings that a recipe's own fields give; not to be passed through beside them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoraRecipe:
    """A new LoRA adapter to train in place of all weights; targets: module names, or all linear."""

    rank: int = 16
    alpha: int = 32
    targets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.rank < 1 or self.alpha < 1:
            raise ConfigError(f"rank and alpha must be at least 1, got {self.rank}, {self.alpha}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class GRPORecipe:
    """GRPO or RLOO with rewards from verdicts; UNGRADED answers are left out.

    algorithm: ``grpo`` or ``rloo``.
    steps: optimiser steps. prompts_per_step, group_size: each step samples
    ``prompts_per_step * group_size`` completions. train_prompts: size of the prompt pool.
    kl_coefficient: weight of the reference KL; 0 builds no reference model.
    save_every: a checkpoint every so many steps (the last step is always saved).
    micro_batch: completions a forward-backward pass takes at once on each process; 0 means all.
    bf16: mixed precision with float32 master weights, also on processors that have it.
    mask_truncated: completions cut before an end token take no part in the loss.
    entropy_coefficient: TRL's entropy bonus. clip_high: upper clip of the ratio; 0 means TRL's.
    reward: what verdicts pay; by default CORRECT 1 and WRONG 0.
    lora: train an adapter. trl: any further setting of TRL's configuration, passed on untouched
    (``use_vllm``, ``deepspeed``, ``fsdp``, ``loss_type``, ``report_to``).
    """

    algorithm: Literal["grpo", "rloo"] = "grpo"
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
    mask_truncated: bool = False
    entropy_coefficient: float = 0.0
    clip_high: float = 0.0
    seed: int = 0
    reward: RewardConfig = field(default_factory=RewardConfig)
    lora: LoraRecipe | None = None
    trl: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse recipes that cannot be meant with a ConfigError."""
        if self.algorithm not in ("grpo", "rloo"):
            raise unknown_name("algorithm", self.algorithm, ("grpo", "rloo"))
        for name in ("steps", "prompts_per_step", "train_prompts", "save_every", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.group_size < 2:
            raise ConfigError(f"group_size must be at least 2, got {self.group_size}.")
        for name in ("learning_rate", "temperature"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} must be above 0, got {getattr(self, name)}.")
        for name in ("kl_coefficient", "clip_high", "micro_batch", "seed"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} must be at least 0, got {getattr(self, name)}.")
        if self.micro_batch and self.rollouts_per_step % self.micro_batch:
            raise ConfigError(
                f"micro_batch ({self.micro_batch}) must divide prompts_per_step * group_size "
                f"({self.rollouts_per_step})."
            )
        if self.algorithm == "rloo" and self.entropy_coefficient:
            raise ConfigError("TRL's RLOO has no entropy bonus; use algorithm grpo for it.")
        _check_passed(self.trl)

    @property
    def rollouts_per_step(self) -> int:
        """Completions sampled for one optimiser step."""
        return self.prompts_per_step * self.group_size


def _check_passed(trl: Mapping[str, Any]) -> None:
    taken = [f"{name} ({own})" for name, own in sorted(OURS.items()) if name in trl]
    if taken:
        raise ConfigError(f"[trl] {', '.join(taken)}: give these as the recipe's own keys.")


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReport:
    """One line of training progress. ``reward`` is the mean verdict reward of the step.

    numbers: everything that was logged of the step, by name.
    """

    step: int
    total: int
    reward: float | None
    seconds: float
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
