"""What is mixed into reinforcement learning, and what its ratios mean. No torch here.

The shares of the three sources add up to 1. With ``unit="tokens"`` they are shares of the step's
completion tokens, each of which weighs the same in the loss: beside R tokens of rollouts a source
draws R * share / rlvr tokens of whole rows (what a row is too long is taken off the next draw),
and its part of the loss is the sum over them, divided by R. With ``unit="loss"`` they are shares
of the loss: a source draws a fixed number of rows, and its part is its mean a token times
share / rlvr. The reinforcement part of the loss stays what it is without mixing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rewardable.errors import ConfigError, unknown_name
from rewardable.train.mix.replay import ReplayConfig

Unit = Literal["tokens", "loss"]
SUM_SLACK = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class DistillMix:
    """On-policy distillation beside reinforcement learning.

    teacher: a checkpoint folder or model id, frozen. weight: of the mean reverse KL a token.
    every: optimiser steps after which the policy answers anew; between, its answers are used
    again. rows: prompts a forward-backward pass takes. max_new_tokens, temperature: of sampling;
    the KL itself is at temperature 1.
    """

    teacher: str
    weight: float = 0.1
    every: int = 1
    rows: int = 8
    max_new_tokens: int = 64
    temperature: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for name in ("every", "rows", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        for name in ("weight", "temperature"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class MixConfig:
    """Shares of rollouts, general supervised rows and replayed successes; they add up to 1.

    unit: of what they are shares (see the module's text). rows: rows that a source draws in a
    forward-backward pass where the unit is ``loss``. A source with share 0 is not built. While
    nothing is there to replay, that share stays empty and is not made up for later.
    """

    rlvr: float = 0.60
    supervised: float = 0.25
    replay: float = 0.15
    unit: Unit = "tokens"
    rows: int = 8
    seed: int = 0
    buffer: ReplayConfig = field(default_factory=ReplayConfig)
    distill: DistillMix | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.unit not in ("tokens", "loss"):
            raise unknown_name("unit of mixing", self.unit, ("tokens", "loss"))
        shares = (self.rlvr, self.supervised, self.replay)
        if not (min(shares) >= 0.0 and abs(sum(shares) - 1.0) <= SUM_SLACK):
            raise ConfigError(
                f"rlvr, supervised and replay must be >= 0 and add up to 1, got {shares} "
                f"(sum {sum(shares):g})."
            )
        if self.rlvr == 0.0:
            raise ConfigError("rlvr must be above 0; without it, this is supervised fine-tuning.")
        if self.rows < 1:
            raise ConfigError(f"rows must be at least 1, got {self.rows}.")

    def ratio(self, source: Literal["supervised", "replay"]) -> float:
        """Return how much of a source goes with one unit of reinforcement learning.

        >>> round(MixConfig().ratio("supervised"), 4)
        0.4167
        """
        return float(getattr(self, source)) / self.rlvr
