"""Which preservation methods a run uses. Every one is off unless given; they compose."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from rewardable.errors import ConfigError, unknown_name
from rewardable.train.preserve.advantages import BalancedConfig, PassAtKConfig
from rewardable.train.preserve.kl import AdaptiveKLConfig
from rewardable.train.preserve.schedule import SoftSchedule
from rewardable.train.preserve.staged import EarlyStopConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class OpeningKLConfig:
    """KL between policy and base on the first ``tokens`` response tokens, exact.

    weight: of the term in the loss. direction: ``policy`` is KL(policy || base), ``base`` is
    KL(base || policy). cache_mb: memory for the base's numbers, which are read once an opening;
    0 keeps none.
    """

    weight: float = 0.1
    tokens: int = 4
    direction: Literal["policy", "base"] = "policy"
    cache_mb: float = 64.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        _positive("weight", self.weight)
        if self.tokens < 1:
            raise ConfigError(f"tokens must be at least 1, got {self.tokens}.")
        if self.direction not in ("policy", "base"):
            raise unknown_name("value of direction:", self.direction, ("policy", "base"))
        if not 0.0 <= self.cache_mb < math.inf:
            raise ConfigError(f"cache_mb must be >= 0, got {self.cache_mb!r}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutingConfig:
    """KL(base || policy) over classes of openings, one of them "any other".

    weight: of the term in the loss. prompts: how many are looked at in each micro-batch, drawn by
    seed. source: where classes come from; ``task`` asks the task (entry families), ``base``
    samples them, ``auto`` takes the task where it can say. texts: whole answers a prompt whose
    tokens are looked at. samples, tokens, classes: completions of the base a prompt, their first
    tokens that make a class, and the most frequent of them that are kept.
    """

    weight: float = 0.1
    prompts: int = 4
    source: Literal["auto", "task", "base"] = "auto"
    texts: int = 64
    samples: int = 64
    tokens: int = 4
    classes: int = 16

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        _positive("weight", self.weight)
        for name in ("prompts", "samples", "tokens", "classes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.texts < 0:
            raise ConfigError(f"texts must be >= 0, got {self.texts}.")
        if self.source not in ("auto", "task", "base"):
            raise unknown_name("value of source:", self.source, ("auto", "task", "base"))


@dataclass(frozen=True, kw_only=True, slots=True)
class PreserveConfig:
    """What keeps the support while a policy is trained; None is off.

    adaptive_kl: a reference KL that moves. opening_kl, routing: terms of the loss. balanced,
    pass_at_k: advantages; together, those for the best of k are balanced. scale: whether
    advantages are divided by their group's deviation. soft_schedule: what WRONG answers are paid,
    less and less. early_stop: ends the run when entropy falls too far.
    """

    adaptive_kl: AdaptiveKLConfig | None = None
    opening_kl: OpeningKLConfig | None = None
    routing: RoutingConfig | None = None
    balanced: BalancedConfig | None = None
    pass_at_k: PassAtKConfig | None = None
    scale: Literal["std", "none"] = "std"
    soft_schedule: SoftSchedule | None = None
    early_stop: EarlyStopConfig | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.scale not in ("std", "none"):
            raise unknown_name("value of scale:", self.scale, ("std", "none"))
        rules = (self.balanced, self.pass_at_k, self.soft_schedule)
        if self.scale == "none" and rules == (None, None, None):
            raise ConfigError(
                "scale is of balanced, pass_at_k and soft_schedule, and none is given; for plain "
                "advantages give TRL's scale_rewards."
            )

    def trainer_settings(self) -> dict[str, Any]:
        """Return the settings of TRL's configuration that the methods need."""
        return {} if self.adaptive_kl is None else {"beta": self.adaptive_kl.start}


def _positive(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ConfigError(f"{name} must be above 0, got {value!r}; leave the table out instead.")
