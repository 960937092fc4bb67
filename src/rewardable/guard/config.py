"""Options of the guard, refused when they cannot be meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rewardable.errors import ConfigError, unknown_name
from rewardable.guard.decision import ACTIONS, Action
from rewardable.guard.names import SIGNALS


@dataclass(frozen=True, kw_only=True)
class GuardConfig:
    """What the guard tolerates, and what it may do.

    alpha: largest chance to ``act`` or more in a whole run that never falls below ``tolerated``,
        however often it is looked at; divided over the sampled signals.
    warn_alpha: the same for ``warn`` by a sampled signal.
    tolerated: relative fall against the start that is no loss. stop_at: the fall that stops.
    support_at, group: k of support@k, G of trainability@G. looks: audits expected in the run.
    allowed: actions that may be taken. patience: audits after ``act`` before it escalates.
    calm: audits without evidence until a state is taken back. ask_at: e-value that asks for an
        early audit; extra_audits: how many of these in all.
    window, block, persist, scales: logged metrics: values of the start window, values a block,
        blocks in a row that must be off, and by how many robust scales.
    expected: names or signals that must appear. aliases: your metric name -> signal.
    """

    alpha: float = 0.05
    warn_alpha: float = 0.25
    tolerated: float = 0.05
    stop_at: float = 0.25
    support_at: int = 8
    group: int = 8
    looks: int = 20
    allowed: tuple[Action, ...] = ()
    patience: int = 3
    calm: int = 2
    ask_at: float = 2.0
    extra_audits: int = 10
    window: int = 10
    block: int = 5
    persist: int = 3
    scales: float = 4.0
    expected: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Refuse values out of range and unknown actions or signals."""
        object.__setattr__(self, "allowed", tuple(self.allowed))
        object.__setattr__(self, "expected", tuple(self.expected))
        object.__setattr__(self, "aliases", dict(self.aliases))
        for name in ("alpha", "warn_alpha", "stop_at"):
            _between(name, getattr(self, name), 0.0, 1.0, open_low=True)
        _between("tolerated", self.tolerated, 0.0, 1.0)
        if self.warn_alpha < self.alpha or self.stop_at <= self.tolerated:
            raise ConfigError(
                "warn_alpha must be at least alpha and stop_at above tolerated, got "
                f"{self.warn_alpha} / {self.alpha} and {self.stop_at} / {self.tolerated}."
            )
        for name in ("support_at", "looks", "patience", "calm", "window", "block", "persist"):
            _whole(name, getattr(self, name), 1)
        _whole("group", self.group, 2)
        _whole("extra_audits", self.extra_audits, 0)
        if self.ask_at <= 1.0 or self.scales <= 0.0:
            raise ConfigError(
                f"ask_at must exceed 1 and scales 0, got {self.ask_at}, {self.scales}."
            )
        for action in self.allowed:
            if action not in ACTIONS:
                raise unknown_name("action", str(action), ACTIONS)
        for signal in self.aliases.values():
            if signal not in SIGNALS:
                raise unknown_name("signal", signal, SIGNALS)

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> GuardConfig:
        """Build from plain values; ConfigError for an unknown key."""
        known = [one.name for one in fields(cls)]
        for key in raw:
            if key not in known:
                raise unknown_name("guard option", key, known)
        return cls(**raw)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = asdict(self)
        return {**plain, "allowed": list(self.allowed), "expected": list(self.expected)}


def _between(name: str, value: float, low: float, high: float, *, open_low: bool = False) -> None:
    below = value <= low if open_low else value < low
    if below or not value < high:
        raise ConfigError(f"{name} must lie between {low} and {high}, got {value!r}.")


def _whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or int(value) != value or value < least:
        raise ConfigError(f"{name} must be a whole number >= {least}, got {value!r}.")
