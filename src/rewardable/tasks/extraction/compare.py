"""Compare a stated value with the gold value by the field's type.

- strict: the JSON type must be the field's, and the value equal. A date is ``YYYY-MM-DD``.
- lenient: a value may be written as text; case, spacing and outer punctuation of strings do not
  matter, nor the order of a list; dates with the month in words or with slashes count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any, Literal

from rewardable.tasks.numbers import lone_number

Kind = Literal["string", "integer", "number", "boolean", "date", "list"]
Policy = Literal["strict", "lenient"]

KINDS: tuple[Kind, ...] = ("string", "integer", "number", "boolean", "date", "list")
_LONGEST = 2000
_ISO = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})")
_DAY_FIRST = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?\.? (?:of )?([a-z]{3,9}),? ([0-9]{4})")
_MONTH_FIRST = re.compile(r"([a-z]{3,9})\.? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}
_EDGES = " \t\n.,;:!?\"'`()[]*_"


def kind_of(gold: Any) -> Kind | None:
    """Return the type that a gold value has; None for one that no field can have."""
    if isinstance(gold, bool):
        return "boolean"
    if isinstance(gold, int):
        return "integer"
    if isinstance(gold, float):
        return "number" if math.isfinite(gold) else None
    if isinstance(gold, str):
        return "date" if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", gold) else "string"
    whole = isinstance(gold, list) and all(isinstance(item, str) for item in gold)
    return "list" if whole else None


def same(stated: Any, gold: Any, kind: Kind, policy: Policy) -> bool:
    """Tell whether a stated value is the gold value."""
    if isinstance(stated, str) and len(stated) > _LONGEST:
        return False
    if policy == "strict":
        exact = kind_of(stated) == kind_of(gold) and stated == gold
        return exact or _same_number(stated, gold, kind)
    read, wanted = _READ[kind](stated), _READ[kind](gold)
    return wanted is not None and read == wanted


def _same_number(stated: Any, gold: Any, kind: Kind) -> bool:
    """Tell whether a whole number stands rightly for a field of type number."""
    plain = isinstance(stated, (int, float)) and not isinstance(stated, bool)
    return kind == "number" and plain and stated == gold


def _number(value: Any) -> Fraction | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return Fraction(value) if math.isfinite(value) else None
    found = lone_number(value) if isinstance(value, str) else None
    return found.value if found else None


def _decimal(value: Any) -> Fraction | None:
    """Read a number; a float is the decimal that it is written as."""
    return _number(repr(value) if isinstance(value, float) else value)


def _string(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return " ".join(value.strip(_EDGES).casefold().split()) or None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _TRUTH.get(_string(value) or "")


def _date(value: Any) -> date | None:
    text = _string(value) or ""
    for pattern, order in ((_ISO, (1, 2, 3)), (_DAY_FIRST, (3, 2, 1)), (_MONTH_FIRST, (3, 1, 2))):
        match = pattern.fullmatch(text)
        if match:
            year, month, day = (match[group] for group in order)
            return _made(int(year), _month(month), int(day))
    return None


def _month(text: str) -> int:
    return int(text) if text.isdigit() else (*_MONTHS, text[:3]).index(text[:3]) + 1


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _list(value: Any) -> list[str] | None:
    items = re.split(r"[,;]", value) if isinstance(value, str) else value
    if not isinstance(items, list) or len(items) > _LONGEST:
        return None
    read = [_string(item) for item in items]
    return None if None in read else sorted(item for item in read if item)


_READ: dict[Kind, Callable[[Any], Any]] = {
    "string": _string,
    "integer": _number,
    "number": _decimal,
    "boolean": _boolean,
    "date": _date,
    "list": _list,
}
