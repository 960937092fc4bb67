"""What a PPO run is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rewardable.errors import ConfigError, unknown_name
from rewardable.train.shaping import RewardConfig

Critic = Literal["detached", "shared", "own"]
CRITICS: tuple[Critic, ...] = ("detached", "shared", "own")

_COUNTS = (
    "steps",
    "prompts_per_step",
    "group_size",
    "train_prompts",
    "save_every",
    "max_new_tokens",
    "epochs",
    "minibatches",
)
_POSITIVE = ("learning_rate", "value_learning_rate", "temperature", "clip", "max_grad_norm")
_NOT_NEGATIVE = (
    "kl_coefficient",
    "value_coefficient",
    "clip_high",
    "value_clip",
    "entropy_coefficient",
    "micro_batch",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PPORecipe:
    """PPO with a critic and GAE; the verdict pays the last token. UNGRADED answers are left out.

    steps: batches sampled, each used for ``epochs`` passes in ``minibatches`` optimiser updates.
    prompts_per_step, group_size: each step samples ``prompts_per_step * group_size`` completions;
    groups are for what looks at them, PPO needs none.
    train_prompts: size of the prompt pool.
    kl_coefficient: what each token pays of log p - log p(reference); 0 builds no reference model.
    gamma, gae_lambda: discount, and decay of the advantage's look ahead.
    clip: how far a token's ratio counts from 1; clip_high: how far above 1, 0 means as below.
    value_clip: how far a value may move from what it was when the batch was drawn; 0: no limit.
    critic: ``detached`` reads the policy's last hidden states and sends no gradient into it;
    ``shared`` sends it; ``own`` is a second model that begins as the base.
    mask_truncated: completions without an end token take no part in the loss.
    bootstrap_truncated: the value at the cut stands for what a truncated one would have been paid.
    With neither, the limit is where an answer ends and its verdict pays.
    save_every: a checkpoint every so many steps (the last step is always saved).
    micro_batch: completions a forward pass takes at once; 0 means all.
    bf16: mixed precision with float32 master weights, also on processors that have it.
    reward: what verdicts pay; by default CORRECT 1 and WRONG 0.
    """

    steps: int = 100
    prompts_per_step: int = 256
    group_size: int = 1
    learning_rate: float = 1e-4
    value_learning_rate: float = 1e-3
    kl_coefficient: float = 0.0
    gamma: float = 1.0
    gae_lambda: float = 1.0
    epochs: int = 1
    minibatches: int = 4
    clip: float = 0.2
    clip_high: float = 0.0
    value_clip: float = 0.2
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    max_grad_norm: float = 1.0
    critic: Critic = "detached"
    mask_truncated: bool = False
    bootstrap_truncated: bool = False
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
        for name in _COUNTS:
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in _POSITIVE:
            _require(0 < getattr(self, name) < float("inf"), name, getattr(self, name), "above 0")
        for name in _NOT_NEGATIVE:
            _require(0 <= getattr(self, name) < float("inf"), name, getattr(self, name), ">= 0")
        for name in ("gamma", "gae_lambda"):
            _require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "in [0, 1]")
        if self.critic not in CRITICS:
            raise unknown_name("value of critic:", self.critic, CRITICS)
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.mask_truncated and self.bootstrap_truncated:
            raise ConfigError(
                "mask_truncated and bootstrap_truncated exclude each other: leave truncated "
                "answers out of the loss, or keep them with the value at the cut."
            )
        if self.train_prompts < self.prompts_per_step:
            raise ConfigError(
                f"train_prompts ({self.train_prompts}) must be at least prompts_per_step "
                f"({self.prompts_per_step}): a step takes no prompt twice."
            )
        if self.minibatches > self.rollouts_per_step:
            raise ConfigError(
                f"minibatches ({self.minibatches}) must be at most prompts_per_step * group_size "
                f"({self.rollouts_per_step})."
            )

    @property
    def rollouts_per_step(self) -> int:
        """Completions sampled for one step."""
        return self.prompts_per_step * self.group_size


def _require(ok: bool, name: str, got: float, expected: str) -> None:
    if not ok:
        raise ConfigError(f"{name} must be {expected}, got {got!r}.")
