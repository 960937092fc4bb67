"""Countdown: reach a target with given numbers. Every valid answer can be enumerated."""

from __future__ import annotations

from rewardable.tasks.countdown.accepted import accepted_texts
from rewardable.tasks.countdown.config import Countdown, CountdownTask
from rewardable.tasks.countdown.generate import is_test_key, split_key
from rewardable.tasks.countdown.normal import write
from rewardable.tasks.countdown.parse import canonical_form
from rewardable.tasks.countdown.solve import Solution, solve
from rewardable.tasks.countdown.steps import StepText, step_texts
from rewardable.tasks.countdown.verify import CountdownVerifier, entry

__all__ = [
    "Countdown",
    "CountdownTask",
    "CountdownVerifier",
    "Solution",
    "StepText",
    "accepted_texts",
    "canonical",
    "entry",
    "is_test_key",
    "solve",
    "split_key",
    "step_texts",
]


def canonical(expression: str) -> str:
    """Return the canonical text of an expression's solution.

    Two texts on the same numbers have equal canonical texts iff they are one solution: equal as
    rational functions of the labelled numbers, up to exchanging equal-valued numbers. The
    canonical text is itself an expression of that solution. The value plays no part, so an
    expression that divides by zero has a canonical text too.

    Raises
    ------
    DataError: not an expression of integers, ``+ - * /`` and brackets.

    Examples
    --------
    >>> canonical("9-(4-7)"), canonical("(7+9)-4")
    ('7-4+9', '7-4+9')
    """
    return write(canonical_form(expression))
