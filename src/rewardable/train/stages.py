"""Recipes of the stages beside reinforcement learning. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from rewardable.errors import ConfigError
from rewardable.train.recipe import LoraRecipe

OWN = frozenset({"output_dir", "max_steps", "seed", "learning_rate", "save_steps"})
"""Trainer settings that a recipe's own fields give; not to be passed through beside them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRecipe:
    """What every stage is told.

    steps: optimiser steps. batch: rows a step, over all processes. micro_batch: rows a pass takes
    at once on each process; 0 means all. save_every: a checkpoint every so many steps (the last
    is always saved). schedule: learning-rate schedule, as transformers names it. bf16: mixed
    precision with float32 master weights, also on processors that have it. lora: train an adapter.
    trl: any further setting of the trainer's configuration, passed on untouched.
    """

    steps: int = 100
    batch: int = 64
    micro_batch: int = 0
    learning_rate: float = 1e-4
    schedule: str = "constant"
    save_every: int = 50
    bf16: bool = False
    seed: int = 0
    lora: LoraRecipe | None = None
    trl: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            least = 0 if entry.name in ("micro_batch", "seed") else 1
            if entry.type == "int" and value < least:
                raise ConfigError(f"{entry.name} must be at least {least}, got {value}.")
        if not 0.0 < self.learning_rate < float("inf"):
            raise ConfigError(f"learning_rate must be above 0, got {self.learning_rate}.")
        if self.micro_batch and self.batch % self.micro_batch:
            raise ConfigError(f"micro_batch ({self.micro_batch}) must divide batch ({self.batch}).")
        taken = sorted(OWN & set(self.trl))
        if taken:
            raise ConfigError(f"[trl] {', '.join(taken)}: give these as the recipe's own keys.")


@dataclass(frozen=True, kw_only=True, slots=True)
class SFTRecipe(StageRecipe):
    """Supervised fine-tuning on right answers; the loss is on the completion and its end token.

    train_prompts, answers_per_prompt: of a task given in place of rows, how many prompts, and up
    to how many right answers each, spread over the solutions. max_length: longer rows are left
    out, never cut.
    """

    train_prompts: int = 2048
    answers_per_prompt: int = 8
    max_length: int = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class DPORecipe(StageRecipe):
    """DPO against the base, on pairs of a CORRECT and a WRONG answer of one prompt.

    beta: how strongly the policy is held to the base. pairs_per_prompt: at most. spread: label
    kind over whose families the chosen answers are spread; empty: as they come. max_length: pairs
    with a longer side are left out, never cut.
    """

    learning_rate: float = 2e-5
    beta: float = 0.1
    pairs_per_prompt: int = 4
    spread: str = ""
    max_length: int = 1024

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        StageRecipe.__post_init__(self)
        if not 0.0 < self.beta < float("inf"):
            raise ConfigError(f"beta must be above 0, got {self.beta}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillRecipe(StageRecipe):
    """On-policy distillation: the student answers, the teacher's distribution is the aim.

    train_prompts: of a task given in place of prompts. divergence: 1 is reverse KL (of the student
    from the teacher), 0 forward KL, between them generalised Jensen-Shannon.
    """

    train_prompts: int = 2048
    max_new_tokens: int = 64
    temperature: float = 1.0
    divergence: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        StageRecipe.__post_init__(self)
        if not 0.0 <= self.divergence <= 1.0:
            raise ConfigError(f"divergence must lie in [0, 1], got {self.divergence}.")
        if not 0.0 < self.temperature < float("inf"):
            raise ConfigError(f"temperature must be above 0, got {self.temperature}.")
