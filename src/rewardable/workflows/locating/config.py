"""What ``locate`` is told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError
from rewardable.locate.look import METHODS, Look
from rewardable.locate.rules import Rule
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


def look_of(methods: tuple[str, ...], rules_file: str = "", **options: Any) -> Look:
    """Build the options of the methods; no method means all of them.

    rules_file: JSON object, opening class -> regular expression, tried in order.
    """
    if rules_file:
        options["opening_rules"] = _rules_from(Path(rules_file))
    return Look(methods=methods or METHODS, **options)


def _rules_from(path: Path) -> tuple[Rule, ...]:
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the opening rules {path}: {error}.") from error
    if not isinstance(raw, dict) or not all(isinstance(v, str) for v in raw.values()):
        raise ConfigError(f"{path} must hold an object: opening class -> regular expression.")
    return tuple(Rule(name, pattern) for name, pattern in raw.items())
