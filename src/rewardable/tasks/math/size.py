"""Constants too large to evaluate: power towers, and factorials or sums of large numbers.

An estimate from the text alone, in a time that does not depend on the values.
"""

from __future__ import annotations

import re

MAX_EXPONENT = 20_000
MAX_FACTORIAL = 2_000
MAX_RANGE = 100_000

_INTEGER = re.compile(r"[0-9]+")
_RANGE = re.compile(r"\\(?:sum|prod|binom|int|dbinom|tbinom)(?![a-zA-Z])")
_CLOSING = {")": "(", "}": "{", "]": "["}


def is_oversized(text: str) -> bool:
    """Tell whether evaluating a formula would need a number beyond the limits."""
    exponents = [_argument(text, at + 1) for at, char in enumerate(text) if char == "^"]
    if any(_size(exponent) > MAX_EXPONENT for exponent in exponents):
        return True
    operands = [_operand(text, at) for at, char in enumerate(text) if char == "!"]
    if any(_size(operand) > MAX_FACTORIAL for operand in operands):
        return True
    return _RANGE.search(text) is not None and _size(text) > MAX_RANGE


def _size(text: str) -> float:
    """Return how large the integers, powers and factorials of a text make it; symbols count 1."""
    largest = float(max((int(digits[:12]) for digits in _INTEGER.findall(text)), default=1))
    if "!" in text and largest > 2:
        return float("inf") if largest > 7 or text.count("!") > 1 else 5040.0
    if "^" not in text:
        return largest
    exponent = max(_size(_argument(text, at + 1)) for at, char in enumerate(text) if char == "^")
    return float("inf") if exponent > 40 and largest > 1 else largest ** min(exponent, 40)


def _argument(text: str, at: int) -> str:
    """Return what an exponent sign at ``at - 1`` applies to."""
    if text[at : at + 1] != "{":
        digits = _INTEGER.match(text, at)
        return digits.group() if digits else text[at : at + 1]
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[at + 1 : place]
    return text[at + 1 :]


def _operand(text: str, at: int) -> str:
    """Return what a factorial sign at ``at`` applies to."""
    before = text[:at].rstrip()
    if before[-1:] not in _CLOSING:
        digits = re.search(r"[0-9]+$|.$", before)
        return digits.group() if digits else ""
    depth = 0
    for place in range(len(before) - 1, -1, -1):
        depth += (before[place] in ")}]") - (before[place] in "([{")
        if depth == 0:
            return before[place + 1 : -1]
    return before
