"""The two-route world: expressions, constraints, verdicts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.records import Completion, Outcome
from rewardable.tasks import load_task
from rewardable.tasks.routes import KINDS, Constraint, instance_of, route_of, steps_text
from rewardable.tasks.routes.constraints import draw_constraint, read_constraint
from rewardable.tasks.routes.expression import (
    Expression,
    direct_text,
    draw_expression,
    read_expression,
)
from rewardable.tasks.routes.verify import RoutesVerifier

EXPRESSION = Expression(12, (("*", 3), ("+", 7), ("-", 5)))


def judged(goal: str, text: str, tag: str = "", policy: str = "strict"):
    prompt = instance_of("t", EXPRESSION, read_constraint(tag) if tag else None)
    verifier = RoutesVerifier(goal=goal, policy=policy)  # type: ignore[arg-type]
    return verifier.verify(prompt, Completion(text=text))


def test_texts_of_an_expression():
    assert str(EXPRESSION) == "12*3+7-5"
    assert steps_text(EXPRESSION) == "12*3=36,36+7=43,43-5=38"
    assert direct_text(EXPRESSION, 2) == "38,38"
    assert instance_of("t", EXPRESSION, Constraint("short", 4)).text == "12*3+7-5?<4:"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("38", ""),
        ("38,38", ""),
        ("12*3=36,36+7=43,43-5=38", ""),
        ("37", "wrong value"),
        ("37,38", "several answers"),
        ("", "no answer"),
        ("about 38", "no answer"),
        ("38,", "no answer"),
        ("12*3=36,36+7=43", "steps missing"),
        ("12*3=35,35+7=42,42-5=37", "wrong step result"),
        ("36+2=38", "not the expression's step"),
        ("12*3=36,38", "not a step"),
        ("9" * 500, "no answer"),
    ],
)
def test_the_mathematics_verifier_says_what_is_wrong(text: str, reason: str):
    verdict = judged("math", text)
    assert verdict.reason == reason
    assert (verdict.outcome is Outcome.CORRECT) == (not reason)


def test_lenient_reads_the_last_number_alone():
    wrong_step = "12*3=35,35+3=38"
    assert judged("math", wrong_step).outcome is Outcome.WRONG
    assert judged("math", wrong_step, policy="lenient").outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("tag", "text", "holds"),
    [
        ("<4", "38", True),
        ("<4", "12*3=36,36+7=43,43-5=38", False),
        ("^3", "38", True),
        ("^3", "12*3=36,36+7=43,43-5=38", False),
        ("!7", "38", True),
        ("!7", "37", False),
        ("#2", "38,38", True),
        ("#2", "38", False),
        ("$8", "12*3=36,36+7=43,43-5=38", True),
        ("$8", "83", False),
    ],
)
def test_the_instruction_verifier_reads_the_constraint_alone(tag: str, text: str, holds: bool):
    verdict = judged("instruction", text, tag)
    assert (verdict.outcome is Outcome.CORRECT) == holds
    assert verdict.parts["compliant"] == float(holds)


def test_a_wrong_number_may_comply_and_joint_needs_both():
    assert judged("instruction", "99", "<4").outcome is Outcome.CORRECT
    both, wrong, long = (
        judged("joint", text, "<4") for text in ("38", "99", "12*3=36,36+7=43,43-5=38")
    )
    assert both.outcome is Outcome.CORRECT
    assert (wrong.outcome, wrong.parts["right"], wrong.parts["compliant"]) == (Outcome.WRONG, 0, 1)
    assert (long.reason, long.parts["right"]) == ("constraint broken", 1)


def test_text_that_is_no_answer_complies_with_nothing():
    assert judged("instruction", "!", "<4").reason == "no answer"
    assert judged("instruction", "", "<4").reason == "no answer"


def test_openings():
    texts = ("12*3=36,x", "38", "38,38", "3*", "", "-4")
    assert [route_of(text) for text in texts] == [
        "steps", "direct", "direct", "other", "other", "direct",
    ]  # fmt: skip


@given(seed=st.integers(0, 10**6), terms=st.integers(1, 5), products=st.booleans())
def test_texts_of_drawn_expressions_are_right(seed: int, terms: int, products: bool):
    expression = draw_expression(random.Random(seed), terms, products=products)
    assert read_expression(str(expression)) == expression
    assert eval(str(expression)) == expression.value
    prompt = instance_of("t", expression, None)
    for text in (steps_text(expression), direct_text(expression)):
        assert RoutesVerifier().verify(prompt, Completion(text=text)).outcome is Outcome.CORRECT


@given(seed=st.integers(0, 10**6), kind=st.sampled_from(list(KINDS)))
def test_a_drawn_constraint_lets_a_direct_answer_comply(seed: int, kind: str):
    rng = random.Random(seed)
    expression = draw_expression(rng, 3, products=True)
    constraint = draw_constraint(rng, kind, expression)
    if constraint is None:
        return
    times = constraint.value if kind == "count" else 1
    assert read_constraint(str(constraint)) == constraint
    assert constraint.holds(direct_text(expression, times))
    assert constraint.holds(steps_text(expression)) == (kind == "last")


@given(st.text(max_size=300))
def test_no_text_makes_the_verifier_raise(text: str):
    for goal in ("math", "instruction", "joint"):
        judged(goal, text, "#2")


def test_prompts_are_seeded_split_and_tagged_with_every_kind():
    task = load_task("routes-instruction")
    first, again = task.prompts(50, 3), task.prompts(60, 3)
    assert [p.key for p in first] == [p.key for p in again[:50]]
    assert {p.facts["constraint_kind"] for p in first} == set(KINDS)
    train = load_task("routes-instruction:split=train").prompts(200, 3)
    shared = {p.facts["expression"] for p in train} & {p.facts["expression"] for p in again}
    assert not shared
    only = load_task("routes-joint:kinds=short+last").prompts(10, 0)
    assert {p.facts["constraint_kind"] for p in only} == {"short", "last"}
    with pytest.raises(ConfigError, match="short"):
        load_task("routes-joint:kinds=shrt")
