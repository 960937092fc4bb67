"""Estimates in words: a number with its interval, a change with what the interval allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rewardable.measure.rows import FALL, RISE, certified
from rewardable.results import Estimate


@dataclass(frozen=True)
class Unit:
    """How a quantity is written: factor, decimals, what follows the number or the interval."""

    decimals: int = 2
    factor: float = 1.0
    suffix: str = ""
    change_suffix: str = ""
    name: str = ""

    def number(self, value: float, *, signed: bool = False, decimals: int | None = None) -> str:
        """Write a value; never "-0.00"."""
        places = self.decimals if decimals is None else decimals
        scaled = round(value * self.factor, places) + 0.0
        return f"{scaled:{'+' if signed else ''}.{places}f}"

    def places(self, estimate: Estimate) -> int:
        """Return the decimals that show the width of the interval, at most two more than usual."""
        if estimate.low is None or estimate.high is None or estimate.high <= estimate.low:
            return self.decimals
        needed = math.ceil(-math.log10((estimate.high - estimate.low) * self.factor))
        return min(max(needed, self.decimals), self.decimals + 2)


SHARE = Unit()
PERCENT = Unit(decimals=0, factor=100, suffix=" %", change_suffix=" points")
PROMPTS = Unit(decimals=1)
COUNT = Unit(decimals=1)
NATS = Unit(name=" nats")


def amount(estimate: Estimate, unit: Unit = SHARE, *, signed: bool = False) -> str:
    """Write ``0.31 [0.27, 0.35]``; "no value" with the reason where there is none."""
    if estimate.value is None:
        reason = estimate.warnings[-1] if estimate.warnings else "undefined"
        return reason if reason.startswith("no value") else f"no value ({reason})"
    suffix = unit.change_suffix if signed else unit.suffix
    places = unit.places(estimate)
    number = f"{unit.number(estimate.value, signed=signed, decimals=places)}{suffix}"
    if estimate.low is None or estimate.high is None:
        return f"{number}{unit.name} (no interval)"
    ends = (estimate.low, estimate.high)
    low, high = (unit.number(end, signed=signed, decimals=places) for end in ends)
    return f"{number} [{low}, {high}]{unit.name}"


def change(
    name: str, before: Estimate, after: Estimate, difference: Estimate, unit: Unit = SHARE
) -> str:
    """Write what happened to a quantity, claiming no more than the interval allows."""
    if difference.value is None:
        return f"{name}: {amount(difference, unit)}"
    sides = f"from {amount(before, unit)} to {amount(after, unit)}"
    moved = amount(difference, unit, signed=True)
    call = certified(difference)
    if call in (RISE, FALL):
        verb = "rose" if call == RISE else "fell"
        return f"{name} {verb} {sides} (difference {moved})"
    both = f"{amount(before, unit)} before, {amount(after, unit)} after"
    if difference.low is None or difference.high is None:
        return f"{name}: nothing can be claimed, {both}; {_why_no_interval(difference)}"
    return f"{name}: no change shown, {both} (difference {moved}, interval covers 0)"


def _why_no_interval(estimate: Estimate) -> str:
    reason = estimate.warnings[-1] if estimate.warnings else "no interval"
    return f"{plural(estimate.n_prompts, 'prompt')}: {reason}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> plural(1, "prompt"), plural(2, "prompt")
    ('1 prompt', '2 prompts')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listing(names: Sequence[str], word: str = "and") -> str:
    """Join names as a sentence does.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def brief(task: str, tasks: Sequence[str]) -> str:
    """Return a task's name without its options where that names it alone.

    >>> brief("countdown:numbers=4", ["countdown:numbers=4", "gsm8k"])
    'countdown'
    """
    name = task.partition(":")[0]
    return name if sum(other.partition(":")[0] == name for other in tasks) == 1 else task
