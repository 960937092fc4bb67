"""Totals of inequivalent expressions: 6, 68, 1170, 27142, 793002 (OEIS A140606)."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from rewardable.tasks.countdown.templates import count

TOTALS = {2: 6, 3: 68, 4: 1170, 5: 27142, 6: 793002}


def independent_total(n: int) -> int:
    """Distinct functions by exact values at a random rational point, subset by subset."""
    rng = random.Random(11)
    values = {
        1 << i: {Fraction(rng.getrandbits(80) | 1, rng.getrandbits(80) | 1)} for i in range(n)
    }
    for mask in sorted(range(1, 2**n), key=int.bit_count):
        if mask in values:
            continue
        found = set()
        for left in range(1, mask):
            if left & mask == left:
                for a, b in itertools.product(values[left], values[mask - left]):
                    found.update((a - b, a / b, *((a + b, a * b) if left < mask - left else ())))
        values[mask] = found
    return len(values[2**n - 1])


@pytest.mark.parametrize("n", [2, 3, 4])
def test_totals_by_independent_enumeration(n):
    assert independent_total(n) == TOTALS[n] == count(n)


def test_total_of_five_operands():
    assert count(5) == TOTALS[5]


@pytest.mark.slow
def test_total_of_five_operands_by_independent_enumeration():
    assert independent_total(5) == TOTALS[5]


@pytest.mark.slow
def test_total_of_six_operands():
    assert count(6) == TOTALS[6]
