"""How a workflow tells what it is doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Progress of one stage. ``stage`` is stable while it runs; ``detail`` is for people."""

    stage: str
    done: int
    total: int
    detail: str = ""


OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Take an event and do nothing."""
