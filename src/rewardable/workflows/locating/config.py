"""What ``locate`` is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewardable.errors import ConfigError
from rewardable.locate.look import METHODS, Look
from rewardable.workflows.config import RunConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class LocateConfig:
    """run: policies, task, free samples and how they are drawn. look: how closely to look."""

    run: RunConfig
    look: Look

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.run.temperatures != (1.0,):
            raise ConfigError("locate compares policies at temperature 1 alone.")
        if self.run.n < 4:
            raise ConfigError(f"locate needs n >= 4 samples a prompt, got {self.run.n}.")


def look_of(methods: tuple[str, ...], **options: Any) -> Look:
    """Build the options of the methods; no method means all of them."""
    return Look(methods=methods or METHODS, **options)
