"""Which training steps of a dump are wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardable.errors import ConfigError

COLUMNS = ("global_step", "step")


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """Steps from ``first`` to ``last``; None: all. each: every step is a policy of its own."""

    first: int | None = None
    last: int | None = None
    each: bool = False

    def holds(self, step: str | None) -> bool:
        """Return whether rows of a step are wanted."""
        if self.first is None or self.last is None:
            return True
        return step is not None and step.isdigit() and self.first <= int(step) <= self.last


def step_of(row: Mapping[str, Any]) -> str | None:
    """Return the training step that a row names."""
    value = next((row[name] for name in COLUMNS if row.get(name) is not None), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def parse_steps(text: str) -> Steps:
    """Read ``"120"``, ``"100-120"``, ``"each"`` or nothing; ConfigError for anything else."""
    if text == "":
        return Steps()
    if text == "each":
        return Steps(each=True)
    first, dash, last = text.partition("-")
    if not first.isdigit() or (dash and not last.isdigit()):
        raise ConfigError(
            f"--step must be a number, a range such as 100-120, or each; got {text!r}."
        )
    return Steps(first=int(first), last=int(last or first))
