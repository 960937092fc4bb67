r"""Equations and inequalities of a stated answer: left sides dropped, relations as intervals."""

from __future__ import annotations

import re

from rewardable.tasks.math.reading import read
from rewardable.tasks.math.values import Formula, Value

_RELATION = re.compile(r"\\(?:le|ge|ne|in)(?![a-zA-Z])|[<>=]")
_CHAIN = re.compile(r"(\\le(?![a-zA-Z])|\\ge(?![a-zA-Z])|<=?|>=?)")
_BOUND = re.compile(r"[A-Za-z](?:_[0-9A-Za-z])?|[A-Za-z]\([A-Za-z]\)")
_SUBSCRIPT = re.compile(r"_(?:\{[^{}]*\}|[0-9A-Za-z])")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_UPWARDS = {"\\le": "\\le", "<=": "\\le", "<": "<"}
_DOWNWARDS = {"\\ge": "\\le", ">=": "\\le", ">": "<"}


def interval_of(value: Value) -> Value | None:
    r"""Return the interval that a relation such as ``-2 \le x < 7`` or ``x > 5`` states."""
    if not isinstance(value, Formula):
        return None
    parts = _CHAIN.split(value.text)
    parts = [part.strip() for part in parts]
    if len(parts) not in (3, 5):
        return None
    table = _UPWARDS if parts[1] in _UPWARDS else _DOWNWARDS
    if any(sign not in table for sign in parts[1::2]):
        return None
    sides, signs = parts[::2], [table[sign] for sign in parts[1::2]]
    if table is _DOWNWARDS:
        sides, signs = sides[::-1], signs[::-1]
    return _between(sides, signs)


def _between(sides: list[str], signs: list[str]) -> Value | None:
    if len(sides) == 2 and _BOUND.fullmatch(sides[0]):
        sides, signs = ["-\\infty", *sides], ["<", *signs]
    elif len(sides) == 2:
        sides, signs = [*sides, "\\infty"], [*signs, "<"]
    if not _BOUND.fullmatch(sides[1]):
        return None
    opening, closing = "[" if signs[0] == "\\le" else "(", "]" if signs[1] == "\\le" else ")"
    return read(f"{opening}{sides[0]},{sides[2]}{closing}")


def without_left_sides(gold: str, answer: str) -> tuple[str, str]:
    r"""Drop ``x=`` where only one side has it, and what follows ``\approx``.

    The reference loses a left side only when that is a bare name; an answer keeps only the last
    side of its equation.
    """
    gold, answer = _before_approx(gold), _before_approx(answer)
    if "=" in answer and not _RELATION.search(gold):
        answer = answer.rpartition("=")[2]
    elif "=" in gold and not _RELATION.search(answer):
        name, _, rest = gold.rpartition("=")
        gold = rest if _is_name(name.partition("=")[0]) else gold
    elif gold.count("=") == answer.count("=") == 1:
        names, sides = zip(*(text.split("=") for text in (gold, answer)), strict=True)
        if names[0] == names[1]:
            gold, answer = sides
    return gold, answer


def _before_approx(text: str) -> str:
    first, _, rest = text.partition("\\approx")
    return rest if rest and _is_name(first) else first


def _is_name(text: str) -> bool:
    r"""Tell whether a left side only names something: ``x``, ``a_n``, ``f(x)``, ``\angle ABC``."""
    bare = _COMMAND.sub("", _SUBSCRIPT.sub("", text))
    letters = re.search(r"[A-Za-z]", bare) or re.search(r"\\(?!pi|sqrt|frac)[a-zA-Z]", text)
    return letters is not None and re.fullmatch(r"[^-+*^0-9]{0,40}", bare) is not None
