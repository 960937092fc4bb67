"""Training in stages: a literal plan, and when a stage ends early. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.train.preserve.smooth import Level, observe


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One stage: values that take the place of the recipe's, by dotted name.

    scale: numbers of the recipe that are multiplied instead.
    """

    name: str
    set: Mapping[str, Any] = field(default_factory=dict[str, Any])
    scale: Mapping[str, float] = field(default_factory=dict[str, float])


THREE_ROUNDS: tuple[Stage, ...] = (
    Stage(name="gentle", scale={"steps": 0.2, "learning_rate": 0.3, "train_prompts": 0.25}),
    Stage(
        name="soft",
        scale={"steps": 0.4},
        set={"reward.kind": "soft", "reward.partial": 0.5, "reward.format_credit": 0.1, "sft": 0.3},
    ),
    Stage(
        name="watched",
        scale={"steps": 0.4},
        set={"sft": 0.2, "preserve.early_stop.ratio": 0.5},
    ),
)
"""Small learning rate and little data; then soft rewards and more SFT; then an early stop when
entropy falls too fast. The order is the source's, the numbers are ours. ``sft`` is the share of
SFT rows mixed in; a recipe without mixing has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlyStopConfig:
    """Stop when the smoothed entropy stays below ``ratio`` of its level at the run's start.

    baseline: log lines of the start. window: lines that the smoothing reaches back. patience:
    lines in a row that it must be below.
    """

    ratio: float = 0.5
    baseline: int = 5
    window: int = 5
    patience: int = 3

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not 0.0 < self.ratio < 1.0:
            raise ConfigError(f"ratio must lie in (0, 1), got {self.ratio!r}.")
        for name in ("baseline", "window", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class StopState:
    """entropy: its level. below: lines in a row below the floor. stop: whether to end."""

    entropy: Level = field(default_factory=Level)
    below: int = 0
    stop: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> StopState:
        """Build the state that was stored; DataError for anything else."""
        if set(raw) != {entry.name for entry in fields(cls)}:
            raise DataError(f"no state of the early stop: it has {sorted(raw)}.")
        found: dict[str, Any] = dict(raw)
        found["entropy"] = Level(**found["entropy"])
        return cls(**found)


def watch_entropy(config: EarlyStopConfig, state: StopState, entropy: float | None) -> StopState:
    """Return the state after one more line; a line without entropy changes nothing."""
    if entropy is None or state.stop:
        return state
    level = observe(state.entropy, entropy, config.baseline, config.window)
    low = (
        level.start is not None
        and level.smooth is not None
        and level.seen > config.baseline
        and level.smooth < config.ratio * level.start
    )
    below = state.below + 1 if low else 0
    return StopState(entropy=level, below=below, stop=below >= config.patience)


def stopped_early(checkpoint: Path) -> bool:
    """Return whether a checkpoint is of a run that stopped early: do not go on from it."""
    raw = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    found = raw["stateful_callbacks"].get("EarlyStop")
    return found is not None and StopState.from_dict(found["attributes"]["now"]).stop
