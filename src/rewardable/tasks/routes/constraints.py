"""Instructions of the two-route world: what a text must look like, whatever its result."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rewardable.errors import ConfigError, unknown_name
from rewardable.tasks.routes.expression import Expression, steps_text

KINDS: Mapping[str, tuple[str, str]] = {
    "short": ("<", "at most so many characters"),
    "first": ("^", "begins with the digit"),
    "without": ("!", "does not contain the digit"),
    "count": ("#", "holds exactly so many numbers"),
    "last": ("$", "ends with the digit"),
}
"""Constraint kind -> (its character in a prompt, what it asks of the text)."""

_KIND_OF = {sign: kind for kind, (sign, _) in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A kind and its number: ``Constraint("short", 4)`` is written ``<4``."""

    kind: str
    value: int

    def __post_init__(self) -> None:
        """Refuse a kind that does not exist."""
        if self.kind not in KINDS:
            raise unknown_name("constraint", self.kind, KINDS)

    def __str__(self) -> str:
        return f"{KINDS[self.kind][0]}{self.value}"

    def holds(self, text: str) -> bool:
        """Tell whether the text satisfies the constraint; an empty text satisfies none."""
        return bool(text) and _HOLDS[self.kind](text, self.value)


_HOLDS: Mapping[str, Callable[[str, int], bool]] = {
    "short": lambda text, value: len(text) <= value,
    "first": lambda text, value: text.startswith(str(value)),
    "without": lambda text, value: str(value) not in text,
    "count": lambda text, value: len(re.findall(r"[0-9]+", text)) == value,
    "last": lambda text, value: text.endswith(str(value)),
}


def read_constraint(text: str) -> Constraint:
    """Read ``<4``; ConfigError for anything else."""
    if len(text) < 2 or text[0] not in _KIND_OF or not text[1:].isdigit():
        raise ConfigError(f"a constraint is one of {' '.join(_KIND_OF)} and a number, got {text!r}")
    return Constraint(_KIND_OF[text[0]], int(text[1:]))


def draw_constraint(rng: random.Random, kind: str, expression: Expression) -> Constraint | None:
    """Draw a constraint that a right answer can satisfy; None where the expression allows none.

    Steps satisfy ``last`` alone: the others are drawn so that only a direct answer does.
    """
    direct, steps = str(expression.value), steps_text(expression)
    if kind == "short":
        return Constraint(kind, rng.randint(len(direct), len(steps) - 1))
    if kind == "first":
        return None if steps[0] == direct[0] else Constraint(kind, int(direct[0]))
    if kind == "without":
        digits = sorted(set(re.findall(r"[0-9]", steps)) - set(direct))
        return Constraint(kind, int(rng.choice(digits))) if digits else None
    if kind == "count":
        return Constraint(kind, rng.randint(1, 3))
    return Constraint("last", int(direct[-1]))
