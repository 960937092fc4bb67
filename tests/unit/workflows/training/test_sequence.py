"""Orders of stages: shared beginnings, targets, learning speed."""

from __future__ import annotations

from typing import Any

import pytest

from rewardable.errors import ConfigError
from rewardable.workflows.sequence import sequence_plan
from rewardable.workflows.sequence.speed import learning_speed

FILE: dict[str, Any] = {
    "policy": "pocket-routes",
    "seed": 5,
    "orders": {"a then b": ["a", "b"], "b then a": ["b", "a"], "a alone": ["a"]},
    "common": {"recipe": {"steps": 4, "learning_rate": 2e-4}},
    "stages": {
        "a": {"task": "routes-math", "target": "routes-math"},
        "b": {
            "task": "routes-instruction",
            "target": "routes-instruction",
            "recipe": {"steps": 6},
        },
    },
    "audit": {"task": "routes-math", "future_tasks": ["routes-instruction"], "n": 8},
}


def test_equal_beginnings_are_trained_once() -> None:
    plan = sequence_plan(FILE)
    assert plan.paths == (("a",), ("b",), ("a", "b"), ("b", "a"))


def test_common_tables_lie_below_those_of_a_stage() -> None:
    plan = sequence_plan(FILE)
    recipes = {name: stage.train.recipe for name, stage in plan.stages.items()}
    assert [recipes[name].steps for name in "ab"] == [4, 6]
    assert {recipes[name].learning_rate for name in "ab"} == {2e-4}
    assert {recipes[name].seed for name in "ab"} == {5}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"orders": {}}, "[orders] is empty"),
        ({"orders": {"x": ["aa"]}}, "Did you mean 'a'"),
        ({"orders": {"x": []}}, "has no stages"),
        ({"stages": {"a": {"task": "t"}}, "orders": {"x": ["a"]}}, "has no target"),
        (
            {"stages": {"a": {"task": "t", "target": "routes-mat"}}, "orders": {"x": ["a"]}},
            "Did you mean 'routes-math'",
        ),
        (
            {
                "stages": {"a": {"task": "t", "target": "routes-math", "policy": "p"}},
                "orders": {"x": ["a"]},
            },
            "belong to the whole sequence",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        sequence_plan({**FILE, **change})
    assert said in str(error.value)


def test_speed_is_when_half_of_the_gain_is_made() -> None:
    rewards = [0.0] * 10 + [1.0] * 10
    speed = learning_speed(rewards, window=5)
    assert (speed.first, speed.last, speed.half_steps) == (0.0, 1.0, 13)


def test_no_gain_has_no_speed() -> None:
    assert learning_speed([0.5, 0.4, 0.3, 0.2]).half_steps is None
    assert learning_speed([0.5]).half_steps is None
