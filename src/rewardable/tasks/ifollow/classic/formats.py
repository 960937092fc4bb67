"""Bullets, highlights, sections, titles, placeholders, JSON and fixed answers.

Each check reads a text once; none backtracks over it.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")

_FENCE = re.compile(r"```(?:json\b|(?=[\s{\[\"]))", re.IGNORECASE)
_HIGHLIGHT = re.compile(r"\*([^\n*]*)\*")
_DOUBLE = re.compile(r"\*\*([^\n*]*)\*\*")


def number_bullet_lists(text: str, num_bullets: int) -> bool:
    """Tell whether there are exactly so many lines that begin with one ``*``, or with ``-``."""
    lines = [line.strip() for line in text.splitlines()]
    starred = sum(line.startswith("*") and line[1:2] not in ("", "*") for line in lines)
    return starred + sum(line.startswith("-") for line in lines) == num_bullets


def number_highlighted_sections(text: str, num_highlights: int) -> bool:
    """Tell whether there are at least so many stretches ``*in stars*`` or ``**in two**``."""
    found = [*_HIGHLIGHT.findall(text), *_DOUBLE.findall(text)]
    return sum(bool(inner.strip()) for inner in found) >= num_highlights


def multiple_sections(text: str, section_spliter: str, num_sections: int) -> bool:
    """Tell whether there are at least so many times the section word with a number behind it."""
    found = re.findall(rf"{re.escape(section_spliter)}\s?\d+", text)
    return len(found) >= num_sections


def number_placeholders(text: str, num_placeholders: int) -> bool:
    """Tell whether there are at least so many ``[placeholders]``, each on one line."""
    return sum(_bracketed(line) for line in text.split("\n")) >= num_placeholders


def _bracketed(line: str) -> int:
    count, at = 0, line.find("[")
    while at >= 0:
        end = line.find("]", at)
        if end < 0:
            break
        count, at = count + 1, line.find("[", end)
    return count


def title(text: str) -> bool:
    """Tell whether some line holds a ``<<title>>`` that is not blank."""
    for line in text.split("\n"):
        start, end = line.find("<<"), line.rfind(">>")
        if 0 <= start < end and line[start:end].strip("<> \t\r"):
            return True
    return False


def json_format(text: str) -> bool:
    """Tell whether the whole text is one JSON value, a code fence around it taken off."""
    body = text.strip()
    fence = _FENCE.match(body)
    if fence:
        body = body[fence.end() :]
    body = body.removesuffix("```").strip()
    try:
        json.loads(body, parse_int=str, parse_float=str, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def constrained_response(text: str) -> bool:
    """Tell whether one of the three fixed answers occurs."""
    return any(answer in text for answer in ANSWERS)
