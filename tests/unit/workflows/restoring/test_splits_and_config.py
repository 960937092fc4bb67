"""Selection, confirmation and training share no prompt; options are read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.tasks import load_task
from rewardable.workflows.restoring.candidates import FAMILIES, Parents, candidates_of
from rewardable.workflows.restoring.config import (
    Objective,
    RestoreConfig,
    parse_keep,
    parse_objective,
)
from rewardable.workflows.restoring.splits import split_prompts

TASK = "countdown-steps:numbers=3,split=test"


def test_splits_are_disjoint_and_the_audit_draws_the_confirmation():
    task = load_task(TASK)
    splits = split_prompts(task, 40, 60, 7)
    assert [p.key for p in splits.confirmation] == [p.key for p in task.prompts(60, 7)]
    selected = {p.text for p in splits.selection}
    assert len(selected) == 40
    assert not selected & {p.text for p in splits.confirmation}
    assert [p.key for p in split_prompts(task, 40, 60, 7).selection] == [
        p.key for p in splits.selection
    ]


def test_prompts_of_training_are_kept_out(tmp_path: Path):
    checkpoint = tmp_path / "checkpoint-9"
    checkpoint.mkdir()
    recipe = f'task = "{TASK}"\nseed = 1\n[recipe]\ntrain_prompts = 64\n'
    (tmp_path / "recipe.toml").write_text(recipe)
    task = load_task(TASK)
    taught = {p.text for p in task.prompts(64, 1)}
    proof = {p.text for p in task.prompts(8, 5)}
    if proof & taught:
        with pytest.raises(DataError, match="trained on"):
            split_prompts(task, 20, 8, 5, str(checkpoint))
        return
    splits = split_prompts(task, 20, 8, 5, str(checkpoint))
    assert not {p.text for p in splits.selection} & taught
    with pytest.raises(DataError, match="trained on"):
        split_prompts(task, 20, 8, 1, str(checkpoint))


def test_too_few_prompts_are_told():
    with pytest.raises(DataError):
        split_prompts(load_task("countdown-steps:numbers=3,values=1-3,targets=5-6"), 500, 500, 0)


@pytest.mark.parametrize(
    ("text", "margin"),
    [("pass@1 within 1 point", 0.01), ("pass@1 within 0.5 points", 0.005)],
)
def test_the_margin_is_read(text: str, margin: float):
    assert parse_keep(text) == pytest.approx(margin)


@pytest.mark.parametrize("text", ["1 point", "pass@1 within 0 points", "pass@8 within 1 point"])
def test_other_words_are_refused(text: str):
    with pytest.raises(ConfigError, match="pass@1 within"):
        parse_keep(text)


def test_the_objective_is_read():
    assert parse_objective("support@32") == Objective(kind="support", k=32)
    for text in ("coverage", "coverage@1", "pass@8"):
        with pytest.raises(ConfigError):
            parse_objective(text)


def test_what_cannot_be_meant_is_refused():
    good = {"trained": "a", "earlier": ("b",), "task": TASK}
    RestoreConfig(**good)
    for bad in (
        {"earlier": ()},
        {"earlier": ("a",)},
        {"families": ("uniforms",)},
        {"alphas": (0.0,)},
        {"margin": 0.0},
        {"n": 8},
        {"prompts": 4},
    ):
        with pytest.raises(ConfigError):
            RestoreConfig(**{**good, **bad})


def test_every_family_makes_candidates_under_names_of_their_own():
    parents = Parents(trained="t", earlier=("x/e1", "x/e2"), layers=4, alphas=(0.3, 0.6))
    found = candidates_of(parents, ())
    assert {one.family for one in found} == set(FAMILIES)
    assert len({one.name for one in found}) == len({one.slug for one in found}) == len(found)
    recipes = [one.recipe for one in found if one.recipe is not None]
    assert len(set(map(repr, recipes))) == len(recipes)
    windows = {r.window for r in recipes if r.window}
    assert windows == {(0, 2), (2, 4), (1, 3), (0, 1), (3, 4)}
    assert all((one.recipe is None) == bool(one.source) for one in found)
    few = candidates_of(parents, ("slerp",))
    assert {one.family for one in few} == {"slerp", "uniform"}


def test_one_layer_or_an_unknown_number_gives_no_window():
    for layers in (None, 1):
        parents = Parents(trained="t", earlier=("e",), layers=layers, alphas=(0.5,))
        assert all(one.family != "windows" for one in candidates_of(parents, ("windows",)))
