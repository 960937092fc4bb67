"""How numbers are written. Formatting only: what is shown was computed in the tables."""

from __future__ import annotations

import re

from rewardable.results import Estimate

MINUS = "−"
THIN = "\N{NARROW NO-BREAK SPACE}"
_SIGN = re.compile(r"(?:(?<=difference )|(?<=changed by ))-(?=\d)")
_INTERVAL = re.compile(r"\[[+-]?[\d.]+, [+-]?[\d.]+\]")


def sentence(text: str) -> str:
    """Set a sentence for reading: true minus signs, intervals that do not break."""

    def keep(found: re.Match[str]) -> str:
        return found[0].replace("-", MINUS).replace(" ", "\u00a0")

    return _INTERVAL.sub(keep, _SIGN.sub(MINUS, text))


def number(value: float | None, *, percent: bool = False, signed: bool = False,
           decimals: int | None = None) -> str:  # fmt: skip
    """Write a value with as many decimals as its size asks for; an en dash for none."""
    if value is None:
        return "–"
    scaled = value * 100 if percent else value
    places = _places(scaled, percent) if decimals is None else decimals
    text = f"{round(scaled, places) + 0.0:{'+' if signed else ''},.{places}f}"
    return text.replace("-", MINUS).replace(",", THIN)


def _places(value: float, percent: bool) -> int:
    if percent:
        return 0 if abs(value) >= 10 or value == 0 else 1
    size = abs(value)
    if size >= 10:
        return 0 if size >= 1000 else 1
    return 2 if size >= 0.1 or size == 0 else 3 if size >= 0.01 else 4


def interval(estimate: Estimate, *, percent: bool = False, signed: bool = False,
             decimals: int | None = None) -> str:  # fmt: skip
    """Write the interval, or nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    ends = (estimate.low, estimate.high)
    low, high = (number(x, percent=percent, signed=signed, decimals=decimals) for x in ends)
    return f"{low} to {high}"


def percent_level(level: float) -> str:
    """Write a level as ``95 %``."""
    return f"{level * 100:g}\u00a0%"


def count(value: float | None) -> str:
    """Write a whole number with thin spaces between thousands."""
    return "–" if value is None else f"{round(value):,}".replace(",", THIN)
