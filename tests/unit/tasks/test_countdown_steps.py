from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.tasks.countdown import canonical, solve, step_texts
from rewardable.tasks.countdown.normal import write
from rewardable.tasks.countdown.steps import literal
from rewardable.tasks.countdown.verify import judge_steps


def write_value(value):
    return str(value) if value.denominator == 1 and value >= 0 else f"({value})"


def all_texts(values, target, rationals):
    """Every valid text, by plain recursion over positions."""
    if len(values) == 1:
        return {""} if values[0] == target else set()
    found = set()
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            if i == j:
                continue
            rest = [value for k, value in enumerate(values) if k not in (i, j)]
            results = {"+": a + b, "-": a - b, "*": a * b}
            if b:
                results["/"] = a / b
            for operator, result in results.items():
                if rationals or (result.denominator == 1 and result >= 0):
                    step = f"{write_value(a)}{operator}{write_value(b)}={write_value(result)}"
                    tails = all_texts([*rest, result], target, rationals)
                    found.update(f"{step},{tail}" if tail else step for tail in tails)
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=3), st.integers(0, 30), st.booleans())
def test_texts_are_complete(numbers, target, rationals):
    steps = step_texts(numbers, target, rationals=rationals)
    expected = all_texts([Fraction(number) for number in numbers], target, rationals)
    assert [step.text for step in steps] == sorted(expected)


@pytest.mark.parametrize(("numbers", "target"), [([2, 2, 4, 5], 5), ([1, 4, 7, 10], 36)])
def test_texts_of_four_numbers_are_complete(numbers, target):
    expected = all_texts([Fraction(number) for number in numbers], target, False)
    assert {step.text for step in step_texts(numbers, target)} == expected


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=4), st.integers(0, 30), st.booleans())
def test_verifier_accepts_every_text_with_its_solution(numbers, target, rationals):
    policy = "lenient" if rationals else "strict"
    solutions = {solution.text for solution in solve(numbers, target)}
    for step in step_texts(numbers, target, rationals=rationals):
        judged = judge_steps(step.text, numbers, target, policy=policy, rationals=rationals)
        assert judged.reason == ""
        assert write(judged.form) == step.solution
        assert step.solution in solutions


def test_solution_and_family_of_a_text():
    steps = {step.text: step for step in step_texts([4, 7, 9], 19)}
    assert set(steps) == {"4*7=28,28-9=19", "7*4=28,28-9=19"}
    assert steps["7*4=28,28-9=19"].entry == "7*"
    assert steps["7*4=28,28-9=19"].solution == canonical("4*7-9")


def test_an_operand_means_the_latest_result():
    steps = {step.text: step.solution for step in step_texts([2, 2, 4], 1)}
    assert steps["2+2=4,4/4=1"] == canonical("(2+2)/4")
    assert canonical("4/(2+2)") not in steps.values()
    assert canonical("4/(2+2)") in {solution.text for solution in solve([2, 2, 4], 1)}


def test_negative_results_are_outside_the_pocket_grammar():
    assert step_texts([1, 3], -2) == ()
    assert [step.text for step in step_texts([1, 3], -2, rationals=True)] == ["1-3=(-2)"]


def test_literals():
    assert [literal(v) for v in (28, -4, Fraction(7, 3))] == ["28", "(-4)", "(7/3)"]


@pytest.mark.parametrize("numbers", [[1], [1] * 6, [-1, 2]])
def test_numbers_out_of_range(numbers):
    with pytest.raises(ConfigError, match="2 to 5"):
        step_texts(numbers, 1)
