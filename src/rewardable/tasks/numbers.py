r"""Numbers in prose, read as numbers: sign, thousands groups, decimals, exponent, percent, a/b.

Decoration that does not change the value (currency, brackets, emphasis, a closing full stop) is
skipped. Groups count only as ``1,250`` or ``1{,}250``; ``12,34`` and ``3,7`` are two numbers. A
sign belongs to a number when no operand stands before it: ``5-3`` holds 5 and 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

_NUMBER = re.compile(
    r"""
    (?<![0-9A-Za-z_])(?<![0-9]\.)
    (?P<sign>(?<![0-9A-Za-z_)\]}])[-\u2212])?
    (?:\\?[$\u20ac\u00a3])?
    (?:(?P<whole>[0-9]{1,3}(?:(?:,|\{,\})[0-9]{3})+(?![0-9])|[0-9]{1,40}(?![0-9]))
       (?P<part>\.[0-9]{1,40}(?![0-9]))?
       |(?P<only>\.[0-9]{1,40}(?![0-9])))
    (?P<exponent>[eE][-+]?[0-9]{1,3}(?![0-9A-Za-z]))?
    (?:/(?P<over>[0-9]{1,40})(?![0-9]))?
    (?P<percent>\s?\\?%)?
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number as written. ``value`` of 35% is 7/20; ``unscaled`` is 35."""

    text: str
    unscaled: Fraction
    percent: bool

    @property
    def value(self) -> Fraction:
        """The value, a percent sign divided out."""
        return self.unscaled / 100 if self.percent else self.unscaled


def numbers_in(text: str) -> Iterator[Number]:
    """Yield the numbers of a text in order; a/0 is skipped."""
    for match in _NUMBER.finditer(text):
        number = _number(match)
        if number:
            yield number


def last_number(text: str) -> Number | None:
    """Return the last number of a text, None without one."""
    matches = reversed(list(_NUMBER.finditer(text)))
    return next(filter(None, map(_number, matches)), None)


def lone_number(text: str) -> Number | None:
    """Return the number of a text that holds exactly one, else None."""
    found = list(numbers_in(text))
    return found[0] if len(found) == 1 else None


def _number(match: re.Match[str]) -> Number | None:
    over = int(match["over"] or 1)
    if not over:
        return None
    whole = re.sub(r"[,{}]", "", match["whole"] or "0")
    unscaled = Fraction(f"{whole}{match['part'] or match['only'] or ''}{match['exponent'] or ''}")
    unscaled = -unscaled if match["sign"] else unscaled
    return Number(
        text=match.group().strip(),
        unscaled=unscaled if over == 1 else unscaled / over,
        percent=bool(match["percent"]),
    )
