"""Code judged by unit tests, run behind walls: three processes, see ``sandbox``.

The tests run in a process that the solution cannot reach, and compare plain data with plain data:
a test passes when the referee has seen its statement finish, so neither an early exit, nor printed
words, nor an object that says it equals everything can pass one. What a solution returns must be
plain data: None, bool, int, float, complex, str, bytes, list, tuple, set, dict, range, Fraction,
Decimal, scalars of numpy, or an iterator over such; an instance of the solution's own class equals
nothing.
"""

from __future__ import annotations

from rewardable.tasks.code.config import HumanEval
from rewardable.tasks.code.sandbox import isolation

__all__ = ["HumanEval", "isolation"]
