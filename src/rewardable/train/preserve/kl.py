"""The weight of the reference KL, moved by what the run shows. Pure: a state and a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.train.preserve.smooth import Level, observe


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveKLConfig:
    """When the coefficient goes up and down, and how far. It never is 0.

    start, low, high: where it begins and its ends; up, down: factor of one move.
    baseline: log lines of the run's own start; nothing moves before them. window: lines that the
    smoothing reaches back. cooldown: lines after a move in which nothing moves.
    fall: up when entropy or support is below 1 - fall of its level at the start, or at the last
    move. patience, gain, ceiling: down when the reward rose by less than ``gain`` over
    ``patience`` lines and is below ``ceiling``.
    """

    start: float = 0.05
    low: float = 0.02
    high: float = 0.1
    up: float = 2.0
    down: float = 2.5
    baseline: int = 5
    window: int = 5
    cooldown: int = 5
    fall: float = 0.2
    patience: int = 20
    gain: float = 0.01
    ceiling: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not 0.0 < self.low <= self.start <= self.high:
            raise ConfigError(
                "the adaptive KL needs 0 < low <= start <= high (at 0 the trainer has no reference "
                f"model), got low={self.low}, start={self.start}, high={self.high}."
            )
        for name in ("up", "down"):
            if not getattr(self, name) > 1.0:
                raise ConfigError(f"{name} must be above 1, got {getattr(self, name)!r}.")
        for name in ("baseline", "window", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.cooldown < 0 or not 0.0 < self.fall < 1.0:
            raise ConfigError(
                f"cooldown must be >= 0 and fall in (0, 1), got {self.cooldown}, {self.fall}."
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class KLState:
    """What the controller remembers: the coefficient, three smoothed levels, when it last moved.

    lines: observed so far. moved: the line of the last move, 0 before any. rewards: the smoothed
    reward at each line since then, the latest ``patience + 1`` of them.
    """

    beta: float
    lines: int = 0
    moved: int = 0
    entropy: Level = field(default_factory=Level)
    support: Level = field(default_factory=Level)
    reward: Level = field(default_factory=Level)
    rewards: tuple[float, ...] = ()
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> KLState:
        """Build the state that was stored; DataError for anything else."""
        if set(raw) != {entry.name for entry in fields(cls)}:
            raise DataError(f"no state of the adaptive KL: it has {sorted(raw)}.")
        found: dict[str, Any] = dict(raw)
        for name in ("entropy", "support", "reward"):
            found[name] = Level(**found[name])
        found["rewards"] = tuple(found["rewards"])
        return cls(**found)


def start(config: AdaptiveKLConfig) -> KLState:
    """Return the state before the first line."""
    return KLState(beta=config.start)


def advance(
    config: AdaptiveKLConfig,
    state: KLState,
    *,
    entropy: float | None = None,
    support: float | None = None,
    reward: float | None = None,
) -> KLState:
    """Return the state after one more line; what was not logged is None and changes nothing."""
    kept = state.rewards
    level = observe(state.reward, reward, config.baseline, config.window)
    if level.smooth is not None and reward is not None:
        kept = (*kept, level.smooth)[-(config.patience + 1) :]
    seen = replace(
        state,
        lines=state.lines + 1,
        entropy=observe(state.entropy, entropy, config.baseline, config.window),
        support=observe(state.support, support, config.baseline, config.window),
        reward=level,
        rewards=kept,
        why="",
    )
    if seen.lines <= config.baseline or (seen.moved and seen.lines - seen.moved <= config.cooldown):
        return seen
    fallen = [name for name in ("entropy", "support") if _fell(config, getattr(seen, name))]
    if fallen:
        return _move(seen, min(config.high, seen.beta * config.up), f"{' and '.join(fallen)} fell")
    if _stalled(config, seen):
        return _move(seen, max(config.low, seen.beta / config.down), "reward stalled")
    return seen


def _fell(config: AdaptiveKLConfig, level: Level) -> bool:
    if level.start is None or level.smooth is None:
        return False
    return level.smooth < (1.0 - config.fall) * level.start


def _stalled(config: AdaptiveKLConfig, state: KLState) -> bool:
    if len(state.rewards) <= config.patience or state.rewards[-1] >= config.ceiling:
        return False
    return state.rewards[-1] - state.rewards[0] < config.gain


def _move(state: KLState, beta: float, why: str) -> KLState:
    """Move, and take the levels of now as what the next fall is measured from."""
    return replace(
        state,
        beta=beta,
        moved=state.lines,
        entropy=state.entropy.anew(),
        support=state.support.anew(),
        rewards=(),
        why=why,
    )
