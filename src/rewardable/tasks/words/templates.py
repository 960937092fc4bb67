"""Texts of the word problems. Each names its numbers and how they make the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

NAMES = ("Ana", "Ben", "Chloe", "David", "Emma", "Farid", "Grace", "Hugo", "Ines", "Jun")
ITEMS = ("apples", "books", "coins", "pencils", "marbles", "stickers", "cookies", "shells")


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A problem. ``answer`` takes the numbers a, b (and c); a negative result is not used."""

    name: str
    steps: int
    text: str
    answer: Callable[[int, int, int], int]


TEMPLATES = (
    Template(
        name="gain",
        steps=1,
        text="{who} has {a} {item} and finds {b} more. How many {item} does {who} have now?",
        answer=lambda a, b, c: a + b,
    ),
    Template(
        name="loss",
        steps=1,
        text="{who} has {a} {item} and gives {b} of them away. How many {item} are left?",
        answer=lambda a, b, c: a - b,
    ),
    Template(
        name="groups",
        steps=1,
        text="{who} has {a} boxes with {b} {item} in each box. How many {item} are there in all?",
        answer=lambda a, b, c: a * b,
    ),
    Template(
        name="difference",
        steps=1,
        text="{who} has {a} {item} and {other} has {b} {item}. How many more {item} does {who} "
        "have than {other}?",
        answer=lambda a, b, c: a - b,
    ),
    Template(
        name="together",
        steps=1,
        text="{who} has {a} {item} and {other} has {b} {item}. How many {item} do they have "
        "together?",
        answer=lambda a, b, c: a + b,
    ),
    Template(
        name="gain-loss",
        steps=2,
        text="{who} has {a} {item}, buys {b} more and then gives {c} to {other}. How many {item} "
        "does {who} have now?",
        answer=lambda a, b, c: a + b - c,
    ),
    Template(
        name="groups-gain",
        steps=2,
        text="{who} has {a} bags with {b} {item} in each bag, and {c} more {item} on the table. "
        "How many {item} does {who} have in all?",
        answer=lambda a, b, c: a * b + c,
    ),
    Template(
        name="groups-loss",
        steps=2,
        text="{who} fills {a} boxes with {b} {item} each. Then {other} takes {c} {item} away. "
        "How many {item} are left?",
        answer=lambda a, b, c: a * b - c,
    ),
    Template(
        name="more-together",
        steps=2,
        text="{who} has {a} {item}. {other} has {b} more {item} than {who}. How many {item} do "
        "they have together?",
        answer=lambda a, b, c: 2 * a + b,
    ),
)
