"""Recipe files: which table which method takes, and what overrides what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.workflows.training import read_file, train, train_plan

BASE: dict[str, Any] = {"policy": "pocket", "task": "countdown-steps:numbers=4"}


def test_tables_become_configurations() -> None:
    plan = train_plan(
        {
            **BASE,
            "seed": 3,
            "recipe": {"steps": 7, "trl": {"use_vllm": True}},
            "reward": {"diversity_weight": 0.2},
            "preserve": {"balanced": {"label": "entry"}},
            "mix": {"rlvr": 0.5, "supervised": 0.3, "replay": 0.2},
            "guard": {"future_tasks": ["countdown"], "rule": {"allowed": ["stop"]}},
        }
    )
    assert (plan.recipe.steps, plan.recipe.seed, plan.recipe.algorithm) == (7, 3, "grpo")
    assert plan.recipe.trl == {"use_vllm": True}
    assert plan.recipe.reward.diversity_weight == 0.2
    assert plan.preserve.balanced.label == "entry"
    assert plan.preserve.opening_kl is None
    assert plan.mix.supervised == 0.3
    assert plan.guard is not None
    assert plan.guard.rule.allowed == ("stop",)
    assert plan.audit is None


def test_command_line_wins_over_the_file() -> None:
    plan = train_plan({**BASE, "seed": 3}, policy="other", seed=9)
    assert (plan.policy, plan.seed, plan.recipe.seed) == ("other", 9, 9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "grop"}, "Did you mean 'grpo'"),
        ({"method": "sft", "preserve": {"balanced": {}}}, "sft takes no preserve"),
        ({"method": "grpo", "teacher": "x"}, "grpo takes no teacher"),
        ({"method": "dpo", "reward": {"kind": "soft"}}, "dpo takes no reward"),
        ({"recipe": {"algorithm": "rloo"}}, "unknown key of [recipe]: 'algorithm'"),
        ({"recipe": {"trl": {"seed": 3}}}, "give these as the recipe's own keys"),
        ({"recipe": {"group_size": 1}}, "group_size must be at least 2"),
        ({"policy": ""}, "no policy to train"),
        ({"guard": {"future_tasks": []}}, "at least one future task"),
        ({"audits": {}}, "Did you mean 'audit'"),
        ({"sources": {"count": 4}}, "there is no [mix]"),
        ({"mix": {}, "sources": {"other_task": "x"}}, "there is no [mix.distill]"),
        (
            {
                "mix": {"rlvr": 0.8, "supervised": 0.0, "replay": 0.2},
                "sources": {"supervised": "x"},
            },
            "supervised has no share",
        ),
        ({"method": "ppo", "mix": {}}, "ppo takes no mix"),
        ({"method": "distill"}, "distill has no teacher"),
        (
            {"recipe": {"kl_coefficient": 0.1}, "preserve": {"adaptive_kl": {}}},
            "the recipe sets it too",
        ),
        ({"preserve": {"scale": "none"}}, "scale is of balanced"),
        ({"recipe": {"trl": {"learning_rate": 1.0}}}, "learning_rate (learning_rate)"),
        ({"recipe": {"learning_rate": -1.0}}, "learning_rate must be above 0"),
        ({"recipe": {"temperature": 0.0}}, "temperature must be above 0"),
        ({"recipe": {"kl_coefficient": -0.1}}, "kl_coefficient must be at least 0"),
    ],
)
def test_what_cannot_be_meant_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        train_plan({**BASE, **change})
    assert said in str(error.value)


def test_an_empty_mix_table_mixes_by_the_defaults() -> None:
    plan = train_plan({**BASE, "mix": {}})
    assert (plan.mix.rlvr, plan.mix.supervised, plan.mix.replay) == (0.60, 0.25, 0.15)
    assert train_plan(BASE).mix is None


@pytest.mark.parametrize(
    "change",
    [
        {"task": "countdwn"},
        {"logs": {"lenient": "countdwn"}},
        {"audit": {"future_tasks": ["countdwn"]}},
        {"mix": {}, "sources": {"supervised": "countdwn"}},
    ],
)
def test_a_wrong_task_name_is_said_before_anything_is_written(
    change: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="countdwn"):
        train(tmp_path / "run", train_plan({**BASE, **change}))
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no recipe file"):
        read_file(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("a = [", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be read as a recipe"):
        read_file(broken)


def test_shipped_recipes_can_be_read() -> None:
    from rewardable.workflows.sequence.plan import merged

    folder = Path(__file__).parents[4] / "recipes"
    file = read_file(folder / "preserve" / "methods.toml")
    for tables in file["methods"].values():
        whole = merged(file["common"], tables)
        if whole.get("method") == "ppo":
            del whole["guard"]
        whole.pop("staged", None)
        train_plan(whole, seed=0)
    train_plan(read_file(folder / "pocket" / "grpo.toml"))
    for name in ("strict", "lenient", "soft"):
        train_plan(read_file(folder / "divisible" / f"{name}.toml"))


def test_rounds_scale_the_recipe_and_set_tables() -> None:
    from rewardable.workflows.training.staged import rounds_of

    raw = {**BASE, "staged": True, "recipe": {"steps": 50, "learning_rate": 1e-3}, "mix": {}}
    gentle, soft, watched = [tables for _, tables in rounds_of(raw)]
    assert [t["recipe"]["steps"] for t in (gentle, soft, watched)] == [10, 20, 20]
    assert gentle["recipe"]["learning_rate"] == pytest.approx(3e-4)
    assert gentle["recipe"]["train_prompts"] == 512
    assert soft["mix"]["supervised"] + soft["mix"]["rlvr"] == pytest.approx(0.85)
    plans = [train_plan(tables) for tables in (gentle, soft, watched)]
    assert [plan.recipe.reward.kind for plan in plans] == ["binary", "soft", "binary"]
    assert plans[2].preserve.early_stop.ratio == 0.5
    assert plans[0].preserve is None


def test_the_gentle_round_has_the_prompts_of_a_step() -> None:
    from rewardable.workflows.training.staged import rounds_of

    raw = {**BASE, "recipe": {"train_prompts": 8, "prompts_per_step": 4}}
    rounds = [tables["recipe"]["train_prompts"] for _, tables in rounds_of(raw)]
    assert rounds == [4, 8, 8]
