"""All inequivalent expressions of n operands, as index tables made for vectorised evaluation.

An *entry* is one function of one subset of the operands. Entries of a subset with k operands are
relabelled copies of the k-operand table, laid out by (k, subset). A table's *candidates* are all
ways to write a function as ``left operator right`` with entries of two complementary subsets,
grouped by function: one candidate evaluates it, all of them tell which texts it has.

Functions are told apart by their values at two random points modulo two primes below 2**31. Two
different functions of n operands meet with probability at most about (2 n / 2**31)**2, summed
over all pairs of 6 operands 1e-5. The points are fixed, so the tables are the same in every
process, and their sizes equal the numbers of inequivalent expressions: 1, 6, 68, 1170, 27142,
793002 (OEIS A140606), which leaves no room for a collision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_OPERANDS = 6
OPERATORS = "+-*/"
PLUS, MINUS, TIMES, OVER = range(4)

Index = npt.NDArray[np.int64]
_PRIMES = (2147483647, 2147483629)
_POINTS_SEED = 20240229


@dataclass(frozen=True, kw_only=True, slots=True)
class Level:
    """Functions of the k-operand subsets of n operands; rows T, candidates C grouped by row.

    first: entry index of the first row. start_T: first candidate of each row.
    left_C, right_C: entry indices. operator_C: index into ``OPERATORS``.
    """

    first: int
    start_T: Index
    left_C: Index
    operator_C: npt.NDArray[np.int8]
    right_C: Index

    @property
    def stop(self) -> int:
        """Entry index after the last row."""
        return self.first + len(self.start_T)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where the entries of each proper subset of n operands begin."""

    n: int
    masks: tuple[int, ...]
    offsets: dict[int, int]
    size: int


@lru_cache(maxsize=MAX_OPERANDS)
def layout(n: int) -> Layout:
    """Lay out the entries of the proper subsets by (number of operands, mask)."""
    masks = sorted(range(1, 2**n - 1), key=lambda mask: (mask.bit_count(), mask))
    offsets: dict[int, int] = {}
    size = 0
    for mask in masks:
        offsets[mask] = size
        size += count(mask.bit_count())
    return Layout(n=n, masks=tuple(masks), offsets=offsets, size=size)


def count(n: int) -> int:
    """Return the number of inequivalent expressions of n operands."""
    return 1 if n == 1 else len(top_level(n).start_T)


@lru_cache(maxsize=MAX_OPERANDS)
def lower_levels(n: int) -> tuple[Level, ...]:
    """Return the levels of 2 to n-1 operands, in the entry indices of ``layout(n)``."""
    place = layout(n)
    return tuple(
        _copies(place, [mask for mask in place.masks if mask.bit_count() == k]) for k in range(2, n)
    )


def _copies(place: Layout, masks: list[int]) -> Level:
    """Relabel the table of k operands for each of the k-operand subsets ``masks``."""
    table = top_level(masks[0].bit_count())
    maps = [_relabel(place, mask) for mask in masks]
    stride = len(table.left_C)
    return Level(
        first=place.offsets[masks[0]],
        start_T=np.concatenate([table.start_T + i * stride for i in range(len(masks))]),
        left_C=np.concatenate([entry_map[table.left_C] for entry_map in maps]),
        operator_C=np.tile(table.operator_C, len(masks)),
        right_C=np.concatenate([entry_map[table.right_C] for entry_map in maps]),
    )


def _relabel(place: Layout, mask: int) -> Index:
    """Map entries of ``layout(k)`` to entries of ``place`` for one k-operand subset."""
    bits = [bit for bit in range(place.n) if mask >> bit & 1]
    small = layout(len(bits))
    parts = [
        np.arange(count(sub.bit_count())) + place.offsets[_spread(sub, bits)] for sub in small.masks
    ]
    return np.concatenate(parts)


def _spread(mask: int, bits: list[int]) -> int:
    return sum(1 << bit for i, bit in enumerate(bits) if mask >> i & 1)


@lru_cache(maxsize=MAX_OPERANDS)
def top_level(n: int) -> Level:
    """Return all functions of exactly n >= 2 operands, in the entry indices of ``layout(n)``."""
    place = layout(n)
    left_C, right_C, operator_C = _candidates(place)
    key_C = _fingerprints(place, left_C, right_C, operator_C)
    _, row_C = np.unique(key_C, return_inverse=True)
    order = np.argsort(row_C, kind="stable")
    counts_T = np.bincount(row_C)
    return Level(
        first=place.size,
        start_T=np.cumsum(counts_T) - counts_T,
        left_C=left_C[order],
        operator_C=operator_C[order],
        right_C=right_C[order],
    )


def _candidates(place: Layout) -> tuple[Index, Index, npt.NDArray[np.int8]]:
    lefts: list[Index] = []
    rights: list[Index] = []
    for mask in place.masks:
        other = 2**place.n - 1 - mask
        rows, columns = count(mask.bit_count()), count(other.bit_count())
        lefts.append(np.repeat(np.arange(rows) + place.offsets[mask], columns))
        rights.append(np.tile(np.arange(columns) + place.offsets[other], rows))
    left, right = np.concatenate(lefts), np.concatenate(rights)
    operator_C = np.repeat(np.arange(4, dtype=np.int8), len(left))
    return np.tile(left, 4), np.tile(right, 4), operator_C


def _fingerprints(
    place: Layout, left_C: Index, right_C: Index, operator_C: npt.NDArray[np.int8]
) -> Index:
    """Return one 62-bit key a candidate: its values modulo the two primes."""
    rng = np.random.default_rng(_POINTS_SEED)
    key_C = np.zeros(len(left_C), dtype=np.int64)
    for prime in _PRIMES:
        value_E = np.zeros(place.size, dtype=np.int64)
        value_E[: place.n] = rng.integers(1, prime, size=place.n)
        inverse_E = _inverse(value_E, prime)
        for level in lower_levels(place.n):
            one = level.start_T
            parts = (level.left_C[one], level.right_C[one], level.operator_C[one])
            rows = slice(level.first, level.stop)
            value_E[rows] = _modular(value_E, inverse_E, *parts, prime)
            inverse_E[rows] = _inverse(value_E[rows], prime)
        key_C = (key_C << 31) | _modular(value_E, inverse_E, left_C, right_C, operator_C, prime)
    return key_C


def _modular(
    value_E: Index,
    inverse_E: Index,
    left_C: Index,
    right_C: Index,
    operator_C: npt.NDArray[np.int8],
    prime: int,
) -> Index:
    result_C = np.empty(len(left_C), dtype=np.int64)
    for operator in range(4):
        at = np.flatnonzero(operator_C == operator)
        left, right = value_E[left_C[at]], right_C[at]
        if operator in (PLUS, MINUS):
            result = left + value_E[right] if operator == PLUS else left - value_E[right]
        else:
            result = left * (value_E if operator == TIMES else inverse_E)[right]
        result_C[at] = result % prime
    return result_C


def _inverse(value_E: Index, prime: int) -> Index:
    """Return the inverses modulo ``prime`` by Fermat's little theorem."""
    result: Any = np.ones_like(value_E)
    square, exponent = value_E.copy(), prime - 2
    while exponent:
        if exponent & 1:
            result = result * square % prime
        square = square * square % prime
        exponent >>= 1
    return result
