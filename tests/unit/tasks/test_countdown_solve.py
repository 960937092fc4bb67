from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.tasks.countdown import canonical, entry, solve
from rewardable.tasks.countdown.evaluate import evaluate


def enumerate_plainly(brute, numbers, target, integers_only=False):
    """Map orbit -> (a canonical text, families) over every tree of the numbers."""
    found = {}
    for tree in brute.trees(tuple(range(len(numbers)))):
        results = []
        value = brute.value(tree, lambda i: Fraction(numbers[i]), results)
        whole = all(result.denominator == 1 for result in results)
        if value == target and (whole or not integers_only):
            text = brute.text(tree, numbers)
            _, families = found.setdefault(brute.orbit(tree, numbers), (canonical(text), set()))
            families.add(brute.first(tree, numbers))
            assert entry(text) == brute.first(tree, numbers)
    return dict(found.values()), len(found)


def check(brute, numbers, target, integers_only):
    plain, orbits = enumerate_plainly(brute, numbers, target, integers_only)
    solved = solve(numbers, target, integers_only=integers_only)
    assert len(plain) == orbits
    assert {s.text: set(s.entries) for s in solved} == plain


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=3), st.integers(-3, 30), st.booleans())
@example([0, 0, 5], 0, False)
@example([4, 4, 0], 0, False)
@example([6, 6, 6], 6, True)
def test_three_numbers_against_enumeration(brute, numbers, target, integers_only):
    check(brute, numbers, target, integers_only)


@pytest.mark.parametrize("integers_only", [False, True])
@pytest.mark.parametrize(
    ("numbers", "target"),
    [([3, 3, 8, 8], 24), ([1, 2, 3, 4], 24), ([0, 2, 2, 0], 0), ([7, 7, 7, 7], 1)],
)
def test_four_numbers_against_enumeration(brute, numbers, target, integers_only):
    check(brute, numbers, target, integers_only)


def test_fractions_are_exact():
    assert {s.text for s in solve([3, 3, 8, 8], 24)} == {canonical("8/(3-8/3)")}
    assert solve([3, 3, 8, 8], 24, integers_only=True) == frozenset()


@given(st.permutations([2, 3, 3, 10]))
def test_order_of_the_numbers_is_irrelevant(numbers):
    assert solve(numbers, 24) == solve([2, 3, 3, 10], 24)


def test_large_numbers_use_exact_integers():
    numbers = [10**9 + 7, 10**9 + 9, 998244353, 7]
    assert evaluate(numbers).numerator_S.dtype == object
    target = numbers[0] * numbers[1] - numbers[2] * numbers[3]
    solved = solve(numbers, target)
    assert {s.text for s in solved} == {
        canonical(f"{numbers[0]}*{numbers[1]}-{numbers[2]}*{numbers[3]}")
    }


def test_one_number():
    assert [s.text for s in solve([7], 7)] == ["7"]
    assert solve([7], 8) == frozenset()


@pytest.mark.parametrize("numbers", [[], [1] * 7, [1, -2]])
def test_numbers_out_of_range(numbers):
    with pytest.raises(ConfigError, match="1 to 6"):
        solve(numbers, 1)
