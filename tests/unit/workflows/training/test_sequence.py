"""Orders of stages: shared beginnings, targets, learning speed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewardable.errors import ConfigError
from rewardable.results import Estimate, Row
from rewardable.workflows.sequence import sequence, sequence_plan
from rewardable.workflows.sequence.speed import learning_speed
from rewardable.workflows.sequence.table import (
    CHANGE,
    PASS,
    SUPPORT,
    TRAINABILITY,
    Passage,
    sentence,
)

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


def test_a_wrong_task_of_a_later_stage_is_said_before_the_first_is_trained(tmp_path: Path) -> None:
    later = {**FILE["stages"]["b"], "task": "routes-instructoin"}
    plan = sequence_plan({**FILE, "stages": {**FILE["stages"], "b": later}})
    with pytest.raises(ConfigError, match="Did you mean 'routes-instruction'"):
        sequence(tmp_path / "run", plan)
    assert not (tmp_path / "run").exists()


def test_a_stage_whose_next_one_is_after_the_same_task_keeps_its_target() -> None:
    passage = Passage(
        order="o", position=1, stage="a", target="t", next_target="t",
        before="b", after="a", metrics=Path("none"),
    )  # fmt: skip
    rows = [
        Row(labels={"of": CHANGE, "role": "target", "metric": name}, estimate=Estimate(value=value))
        for name, value in ((PASS, 0.25), (SUPPORT, 2.0), (TRAINABILITY, 0.5))
    ]
    said = sentence(passage, rows)
    assert "pass@1 on its target 0.25; on what comes next support 2 prompts" in said
    assert "trainability 0.5" in said


def test_speed_is_when_half_of_the_gain_is_made() -> None:
    rewards = [0.0] * 10 + [1.0] * 10
    speed = learning_speed(rewards, window=5)
    assert (speed.first, speed.last, speed.half_steps) == (0.0, 1.0, 13)


def test_no_gain_has_no_speed() -> None:
    assert learning_speed([0.5, 0.4, 0.3, 0.2]).half_steps is None
    assert learning_speed([0.5]).half_steps is None
