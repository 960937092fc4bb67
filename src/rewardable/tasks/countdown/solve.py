"""Exact Countdown solver: all solutions of an instance, each with the families of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rewardable.errors import ConfigError
from rewardable.tasks.countdown.evaluate import Values, evaluate, families
from rewardable.tasks.countdown.normal import Form, combine, leaf, write
from rewardable.tasks.countdown.templates import MAX_OPERANDS, OPERATORS, Index


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Solution:
    """One solution. ``text`` is canonical; ``entries`` are the families of its legal texts.

    An entry such as ``"4*"`` is the first operand and the first operator of a text as written.
    """

    text: str
    entries: frozenset[str]


def solve(
    numbers: Sequence[int], target: int, *, integers_only: bool = False
) -> frozenset[Solution]:
    """Return every solution that uses each number exactly once and equals ``target``.

    Arithmetic is exact. With ``integers_only`` a solution counts when one of its texts has
    integers alone as intermediate results (read left to right), and so for its entries.

    Raises
    ------
    ConfigError: not 1 to 6 numbers, or a negative one.

    Examples
    --------
    >>> sorted(solution.text for solution in solve([4, 7, 9], 19))
    ['4*7-9']
    """
    _check(numbers)
    if len(numbers) == 1:
        alone = Solution(text=str(target), entries=frozenset())
        return frozenset([alone]) if numbers[0] == target else frozenset()
    values = evaluate(numbers)
    return solutions_at(numbers, values, target, integers_only=integers_only)


def solutions_at(
    numbers: Sequence[int], values: Values, target: int, *, integers_only: bool
) -> frozenset[Solution]:
    """Return the solutions of one target from the numbers' evaluated table."""
    up, down = values.top
    rows_T = np.flatnonzero((up == target * down) & (down != 0))
    family_T = families(values, rows_T, integers_only=integers_only)
    legal = family_T != 0
    merged: dict[str, int] = {}
    build = _Forms(numbers, values)
    for row, bits in zip(rows_T[legal].tolist(), family_T[legal].tolist(), strict=True):
        text = write(build.form(values.program.top.first + row))
        merged[text] = merged.get(text, 0) | bits
    return frozenset(
        Solution(text=text, entries=_entries(numbers, bits)) for text, bits in merged.items()
    )


def reachable_targets(values: Values, low: int, high: int) -> tuple[Index, Index]:
    """Return (targets, counts): integers in [low, high] that some expression formally equals.

    A count is of labelled expressions, so it is an upper bound of the number of solutions.
    """
    up, down = values.top
    at = (down != 0) & (up % np.where(down == 0, 1, down) == 0)
    results = up[at] // down[at]
    inside = results[(results >= low) & (results <= high)].astype(np.int64)
    return np.unique(inside, return_counts=True)


def _check(numbers: Sequence[int]) -> None:
    if not 1 <= len(numbers) <= MAX_OPERANDS or min(numbers) < 0:
        raise ConfigError(
            f"the solver takes 1 to {MAX_OPERANDS} non-negative integers, got {list(numbers)!r}."
        )


def _entries(numbers: Sequence[int], bits: int) -> frozenset[str]:
    return frozenset(
        f"{number}{symbol}"
        for i, number in enumerate(numbers)
        for j, symbol in enumerate(OPERATORS)
        if bits >> (4 * i + j) & 1
    )


class _Forms:
    """Normal forms of entries on given numbers, each entry built once."""

    def __init__(self, numbers: Sequence[int], values: Values) -> None:
        program = values.program
        self._levels = (*program.lower, program.top)
        self._forms: dict[int, Form] = {i: leaf(number) for i, number in enumerate(numbers)}

    def form(self, entry: int) -> Form:
        """Return the form of an entry (depth of the recursion: at most 6)."""
        known = self._forms.get(entry)
        if known is None:
            level = next(level for level in self._levels if entry < level.stop)
            one = int(level.start_T[entry - level.first])
            operator = OPERATORS[level.operator_C[one]]
            left = self.form(int(level.left_C[one]))
            known = combine(operator, left, self.form(int(level.right_C[one])))
            self._forms[entry] = known
        return known
