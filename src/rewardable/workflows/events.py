"""How a workflow tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Progress of one stage. ``stage`` is stable while it runs; ``detail`` is for people.

    numbers: figures of the step that was just done, by name, for those who draw them.
    """

    stage: str
    done: int
    total: int
    detail: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])


OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Take an event and do nothing."""
