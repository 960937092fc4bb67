"""What the guard says."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "warn", "act", "stop", "roll_back"]
Action = Literal["raise_kl", "add_replay", "lower_learning_rate", "stop", "roll_back"]

ACTIONS: tuple[Action, ...] = (
    "raise_kl",
    "add_replay",
    "lower_learning_rate",
    "stop",
    "roll_back",
)
GENTLE: tuple[Action, ...] = ("raise_kl", "add_replay", "lower_learning_rate")


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """One signal now and at the run's own start.

    low, high: for sampled signals, bounds of the value on these prompts at this look, valid over
        all looks of the run at once (each end at ``level``); None for logged metrics.
    e_value, threshold: evidence of a fall gathered over all looks, and where it speaks.
    fallen: in how far this signal is off: 0 no, 1 warn, 2 act, 3 stop.
    """

    signal: str
    task: str | None
    value: float
    start_value: float
    low: float | None = None
    high: float | None = None
    level: float | None = None
    e_value: float | None = None
    threshold: float | None = None
    n_prompts: int = 0
    n_rollouts: int = 0
    fallen: int = 0
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something about the input that a reader must know; said once a run."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The guard's answer to one observation.

    speaks: the state changed; ``actions`` are then the allowed ones to take, once.
    audit_wanted: sample the future tasks at once instead of waiting for the schedule.
    last_good: the last audited step whose support was not below the start by the margin.
    """

    step: int
    state: State
    speaks: bool
    evidence: tuple[Evidence, ...] = ()
    remedy: str = ""
    actions: tuple[Action, ...] = ()
    audit_wanted: bool = False
    last_good: int | None = None
    notices: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)
