"""Values and families of all expressions of given numbers, vectorised and exact.

A value is a numerator and a denominator, not reduced, in int64 where a bound on both allows it
and in Python integers elsewhere. With reduced parts on disjoint numbers they are, up to sign, the
reduced fraction of polynomials, whichever candidate computes them. Whether some *text* computes
the value without dividing by zero (and, under the integer rule, with integers alone) is decided
over all candidates: ``family_E`` holds the families of the legal texts as bits, 0 for none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardable.tasks.countdown.templates import (
    MINUS,
    OVER,
    TIMES,
    Index,
    Level,
    layout,
    lower_levels,
    top_level,
)

Numbers = npt.NDArray[Any]
"""int64, or Python integers (dtype object) where int64 could overflow."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One level as gathers from the flat array [numerators; denominators] of length 2 S.

    Rows with + or - are ``l_n * r_d + sign * r_n * l_d`` over ``l_d * r_d``; rows with * or /
    are ``l_n * r_n`` over ``l_d * r_d`` with the right operand's parts exchanged for /.
    """

    sum_rows: Index
    sum_left: Index
    sum_right: Index
    sum_sign: Index
    product_rows: Index
    product_left: Index
    product_up: Index
    product_down: Index


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """Everything of ``n`` operands that does not depend on the numbers.

    size: entries S, the full set's included. leaf_bit_C per lower level: the family bit of a
    candidate whose left operand is a number, else 0.
    """

    n: int
    size: int
    lower: tuple[Level, ...]
    top: Level
    plans: tuple[Plan, ...]
    leaf_bits: tuple[Index, ...]


@lru_cache(maxsize=6)
def program(n: int) -> Program:
    """Return the program of ``n`` operands, built on first use."""
    lower, top = lower_levels(n), top_level(n)
    size = layout(n).size + len(top.start_T)
    return Program(
        n=n,
        size=size,
        lower=lower,
        top=top,
        plans=tuple(_plan(level, size) for level in (*lower, top)),
        leaf_bits=tuple(leaf_bits(level.left_C, level.operator_C, n) for level in lower),
    )


def leaf_bits(left_C: Index, operator_C: npt.NDArray[np.int8], n: int) -> Index:
    """Return bit ``4 * operand + operator`` where the left entry is an operand, else 0."""
    bits = np.left_shift(1, 4 * np.minimum(left_C, n) + operator_C)
    return np.where(left_C < n, bits, 0)


def _plan(level: Level, size: int) -> Plan:
    left, right = level.left_C[level.start_T], level.right_C[level.start_T]
    operator = level.operator_C[level.start_T]
    rows = np.arange(level.first, level.stop)
    sums, products = operator < TIMES, operator >= TIMES
    over = np.where(operator[products] == OVER, size, 0)
    return Plan(
        sum_rows=rows[sums],
        sum_left=left[sums],
        sum_right=right[sums],
        sum_sign=np.where(operator[sums] == MINUS, -1, 1),
        product_rows=rows[products],
        product_left=left[products],
        product_up=right[products] + over,
        product_down=right[products] + size - over,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """Numerators and denominators of all S entries; the full set's are the last ones."""

    program: Program
    numerator_S: Numbers
    denominator_S: Numbers

    @property
    def top(self) -> tuple[Numbers, Numbers]:
        """Numerators and denominators of the functions of all numbers."""
        first = self.program.top.first
        return self.numerator_S[first:], self.denominator_S[first:]


def evaluate(numbers: Sequence[int]) -> Values:
    """Evaluate all entries on the numbers (2 to 6 non-negative integers)."""
    prog = program(len(numbers))
    flat = np.ones(2 * prog.size, dtype=_dtype(numbers))
    flat[: prog.n] = numbers
    size = prog.size
    for plan in prog.plans:
        left_down = flat[plan.sum_left + size]
        right_down = flat[plan.sum_right + size]
        crossed = plan.sum_sign * flat[plan.sum_right] * left_down
        flat[plan.sum_rows] = flat[plan.sum_left] * right_down + crossed
        flat[plan.sum_rows + size] = left_down * right_down
        flat[plan.product_rows] = flat[plan.product_left] * flat[plan.product_up]
        down = flat[plan.product_left + size] * flat[plan.product_down]
        flat[plan.product_rows + size] = down
    return Values(program=prog, numerator_S=flat[:size], denominator_S=flat[size:])


def _dtype(numbers: Sequence[int]) -> type:
    """int64 if no part can exceed 2**62: each is below 2**(n-1) times the product of numbers."""
    bound = math.prod(max(number, 1) for number in numbers) << (len(numbers) - 1)
    return np.int64 if bound < 2**62 else object


def families(values: Values, rows_T: Index, *, integers_only: bool) -> Index:
    """Return the family bits of the full set's functions ``rows_T``; 0 where no text is legal."""
    prog = values.program
    family_E = np.zeros(prog.top.first, dtype=np.int64)
    legal_E = np.zeros(prog.top.first, dtype=bool)
    legal_E[: prog.n] = True
    for level, bits in zip(prog.lower, prog.leaf_bits, strict=True):
        parts = (level.left_C, level.operator_C, level.right_C)
        bits_C = _candidate_families(values, family_E, legal_E, *parts, bits)
        rows = slice(level.first, level.stop)
        family_E[rows] = np.bitwise_or.reduceat(bits_C, level.start_T)
        if integers_only:
            family_E[rows] *= _integral(values, rows)
        legal_E[rows] = family_E[rows] != 0
    if not len(rows_T):
        return np.zeros(0, dtype=np.int64)
    take, start = _candidates_of(prog.top, rows_T)
    left_C, right_C = prog.top.left_C[take], prog.top.right_C[take]
    operator_C = prog.top.operator_C[take]
    bits = leaf_bits(left_C, operator_C, prog.n)
    bits_C = _candidate_families(values, family_E, legal_E, left_C, operator_C, right_C, bits)
    family_T = np.bitwise_or.reduceat(bits_C, start)
    return family_T * _integral(values, rows_T + prog.top.first) if integers_only else family_T


def _candidate_families(
    values: Values,
    family_E: Index,
    legal_E: npt.NDArray[np.bool_],
    left_C: Index,
    operator_C: npt.NDArray[np.int8],
    right_C: Index,
    leaf_bits_C: Index,
) -> Index:
    defined = (operator_C != OVER) | (values.numerator_S[right_C] != 0)
    legal = legal_E[left_C] & legal_E[right_C] & defined
    return (family_E[left_C] | leaf_bits_C) * legal


def _integral(values: Values, rows: slice | Index) -> npt.NDArray[np.bool_]:
    up, down = values.numerator_S[rows], values.denominator_S[rows]
    return (down != 0) & (up % np.where(down == 0, 1, down) == 0)


def _candidates_of(level: Level, rows_T: Index) -> tuple[Index, Index]:
    """Return the candidates of some rows, and where each row's begin among them."""
    ends = np.append(level.start_T, len(level.left_C))
    lengths = ends[rows_T + 1] - ends[rows_T]
    start = np.cumsum(lengths) - lengths
    take = np.repeat(ends[rows_T] - start, lengths) + np.arange(int(lengths.sum()))
    return take, start
