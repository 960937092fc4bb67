"""What a stated answer can be: a number, words, a formula, a bracketed group, a list, a union."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, kw_only=True, slots=True)
class Num:
    """A number as written. ``value`` of 35% is 7/20; ``unscaled`` is 35.

    decimal: written with a decimal point or exponent, so it may stand for a rounded value.
    base: of a numeral with a base, else 0; its ``value`` is that of the digits read in base ten.
    """

    text: str
    unscaled: Fraction
    decimal: bool = False
    percent: bool = False
    unit: str = ""
    base: int = 0

    @property
    def value(self) -> Fraction:
        """The value, a percent sign divided out."""
        return self.unscaled / 100 if self.percent else self.unscaled


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """Plain words, compared without case unless one letter long."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Formula:
    """Anything else in plain form. ``closed``: it holds words, so only its spelling counts."""

    text: str
    closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A tuple, a point, a vector or an interval: order and brackets count."""

    text: str
    opening: str
    closing: str
    items: tuple[Value, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Several:
    """Several values in any order, each once. ``braced``: written as a set."""

    text: str
    items: tuple[Value, ...]
    braced: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Union:
    """A union of intervals and sets."""

    text: str
    items: tuple[Value, ...]


Value = Num | Words | Formula | Group | Several | Union


def canonical(value: Value) -> str:
    """Return a short text that equal spellings share; numbers are reduced, lists sorted."""
    match value:
        case Num(base=base) if base:
            return f"{value.unscaled}_{base}"
        case Num():
            return str(value.value)
        case Words() | Formula():
            return value.text
        case Group():
            return f"{value.opening}{','.join(map(canonical, value.items))}{value.closing}"
        case Several():
            joined = ",".join(sorted(map(canonical, value.items)))
            return f"{{{joined}}}" if value.braced else joined
        case Union():
            return " \\cup ".join(sorted(map(canonical, value.items)))
