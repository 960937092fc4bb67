"""Expressions of the two-route world: seeded draws, values, and answers as texts."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from rewardable.records import digest

TEST_SHARE = 5
"""One expression in so many belongs to the test split."""

_LARGEST = 40
"""Numbers are drawn up to this, factors up to 9."""

_TEXT = re.compile(r"([0-9]{1,3})((?:[-+*][0-9]{1,3})+)")
_TERM = re.compile(r"([-+*])([0-9]{1,3})")


@dataclass(frozen=True, slots=True)
class Expression:
    """``first`` and the operations that follow, computed from left to right.

    Only the first operation may be a product, so that left to right is the usual precedence.
    """

    first: int
    terms: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return f"{self.first}{''.join(f'{operator}{number}' for operator, number in self.terms)}"

    @property
    def results(self) -> tuple[int, ...]:
        """The result after each operation."""
        found: list[int] = []
        value = self.first
        for operator, number in self.terms:
            value = apply(operator, value, number)
            found.append(value)
        return tuple(found)

    @property
    def value(self) -> int:
        """The value."""
        return self.results[-1]

    @property
    def is_test(self) -> bool:
        """Whether the expression belongs to the test split; decided by its text alone."""
        return int(digest("routes-split", str(self), length=8), 16) % TEST_SHARE == 0


def apply(operator: str, left: int, right: int) -> int:
    """Return left operator right; operators are ``+ - *``."""
    if operator == "*":
        return left * right
    return left + right if operator == "+" else left - right


def draw_expression(rng: random.Random, terms: int, *, products: bool) -> Expression:
    """Draw an expression of ``terms`` operations whose results are all from 0 to 999."""
    while True:
        if products and rng.random() < 0.5:
            first, head = rng.randint(2, 9), [("*", rng.randint(2, 9))]
        else:
            first, head = rng.randint(2, _LARGEST), []
        tail = [(rng.choice("+-"), rng.randint(2, _LARGEST)) for _ in range(terms - len(head))]
        found = Expression(first, (*head, *tail))
        if all(0 <= result <= 999 for result in found.results):
            return found


def read_expression(text: str) -> Expression:
    """Read an expression as written by ``str``; ValueError for anything else."""
    match = _TEXT.fullmatch(text)
    if not match:
        raise ValueError(f"not an expression of the two-route world: {text!r}")
    terms = tuple((operator, int(number)) for operator, number in _TERM.findall(match.group(2)))
    return Expression(int(match.group(1)), terms)


def steps_text(expression: Expression) -> str:
    """Return the step-by-step answer: ``12*3=36,36+7=43``."""
    left, steps = expression.first, list[str]()
    for (operator, number), result in zip(expression.terms, expression.results, strict=True):
        steps.append(f"{left}{operator}{number}={result}")
        left = result
    return ",".join(steps)


def direct_text(expression: Expression, times: int = 1) -> str:
    """Return the direct answer, written ``times`` times: ``43,43``."""
    return ",".join([str(expression.value)] * times)
