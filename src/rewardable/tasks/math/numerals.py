r"""One number and nothing else: decimals, fractions, mixed numbers, powers of ten, percent, units.

``1,250`` and ``1{,}250`` are one number where commas may group; ``12,34`` never is.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import accumulate

from rewardable.tasks.math.values import Num

_INTEGER = r"[0-9]{1,40}"
_UNSIGNED = r"(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})"
_NUMBER = re.compile(
    rf"""
    (?P<sign>[-+]?)\s*
    (?:
      \\frac\s*\{{\s*(?P<top>[-+]?{_UNSIGNED})\s*\}}\s*\{{\s*(?P<bottom>[-+]?{_UNSIGNED})\s*\}}
    | (?P<whole>{_INTEGER})\s*\\frac
      \s*\{{\s*(?P<over>{_INTEGER})\s*\}}\s*\{{\s*(?P<under>{_INTEGER})\s*\}}
    | (?P<plain_whole>{_INTEGER})\ (?P<plain_over>{_INTEGER})\s?/\s?(?P<plain_under>{_INTEGER})
    | (?P<digits>{_INTEGER})_\{{?(?P<base>[0-9]{{1,2}})\}}?
    | (?P<ratio_top>{_UNSIGNED})\s?/\s?(?P<ratio_bottom>{_UNSIGNED})
    | 10\s*\^\s*(?:\{{\s*)?(?P<power>[-+]?[0-9]{{1,3}})\s*\}}?
    | (?P<mantissa>{_UNSIGNED})
      (?:[eE](?P<exponent>[-+]?[0-9]{{1,3}})(?![0-9])
      |\s*(?:\\times|\\cdot|\*|x)\s*10\s*\^\s*(?:\{{\s*)?(?P<ten>[-+]?[0-9]{{1,3}})\s*\}}?)?
    )
    (?:\s*(?P<percent>%))?
    (?P<unit>.*)
    """,
    re.VERBOSE | re.DOTALL,
)
_UNIT = re.compile(
    r"\s*(?:(?:\\text\s*\{(?P<text>[^{}]*)\}|\s(?P<word>[a-z]{2,}(?:[ /-][a-z]{1,}){0,3}))"
    r"\s*(?:\^\s*\{?[23]\}?)?\s*)?",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"(?<![0-9.,])([0-9]{1,3}(?:,[0-9]{3})+)(?![0-9,])")
_NOT_UNITS = re.compile(
    r"\b(?:or|and|if|when|where|for|more|less|than|not|at|least|most|about|nor|is|either|with"
    r"|pi|sqrt|sin|cos|tan|cot|sec|csc|log|ln|exp|arcsin|arccos|arctan|mod|choose)\b"
)
_LENGTHS = {
    "mm": "mm millimeter millimetre",
    "cm": "cm centimeter centimetre",
    "m": "m meter metre",
    "km": "km kilometer kilometre",
    "in": "in inch inche",
    "ft": "ft foot feet",
    "yd": "yd yard",
    "mi": "mi mile",
    "s": "sec second",
    "min": "min minute",
    "h": "h hr hour",
    "day": "day",
    "cent": "cent",
    "dollar": "dollar",
}
_UNIT_OF = {name: unit for unit, names in _LENGTHS.items() for name in names.split()}


def ungroup(text: str) -> str:
    """Join thousands groups outside round and square brackets: ``1,250`` becomes ``1250``."""
    depths = list(accumulate((char in "([") - (char in ")]") for char in text))

    def joined(match: re.Match[str]) -> str:
        return match.group() if depths[match.start()] > 0 else match.group().replace(",", "")

    return _GROUPED.sub(joined, text)


def read_number(text: str) -> Num | None:
    """Return the number that a plain form consists of, None when it is anything else."""
    match = _NUMBER.fullmatch(text)
    unit = _unit(match["unit"]) if match else None
    if match is None or unit is None:
        return None
    value = _value(match)
    if value is None:
        return None
    written = text[: match.start("unit")]
    return Num(
        text=written.strip(),
        unscaled=-value if match["sign"] == "-" else value,
        decimal="." in written or bool(match["exponent"] or match["ten"]),
        percent=bool(match["percent"]),
        unit=unit,
        base=int(match["base"] or 0),
    )


def same_units(left: Num, right: Num) -> bool:
    """Refuse two known units that differ, as cm and m; anything else is let pass."""
    known = [_UNIT_OF.get(number.unit) for number in (left, right)]
    return None in known or known[0] == known[1]


def _value(match: re.Match[str]) -> Fraction | None:
    for top, bottom in (("top", "bottom"), ("ratio_top", "ratio_bottom")):
        if match[top]:
            under = Fraction(match[bottom])
            return Fraction(match[top]) / under if under else None
    for whole, over, under in (
        ("whole", "over", "under"),
        ("plain_whole", "plain_over", "plain_under"),
    ):
        if match[whole]:
            proper = int(match[over]) < int(match[under])
            part = Fraction(int(match[over]), int(match[under])) if proper else None
            return None if part is None else int(match[whole]) + part
    if match["power"]:
        return Fraction(10) ** int(match["power"])
    if match["digits"]:
        return Fraction(match["digits"]) if int(match["base"]) >= 2 else None
    return Fraction(match["mantissa"]) * Fraction(10) ** int(match["exponent"] or match["ten"] or 0)


def _unit(rest: str) -> str | None:
    """Return the unit that follows a number, "" without one, None when it is no unit."""
    match = _UNIT.fullmatch(rest)
    if match is None:
        return None
    words = (match["text"] or match["word"] or "").lower().strip(" .~")
    if _NOT_UNITS.search(words) or re.search(r"[0-9=<>]", words):
        return None
    return words.removesuffix("s")
