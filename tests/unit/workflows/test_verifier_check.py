"""Probes: a sound verifier passes all, and every known fault fails the probe that is for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.workflows.verifiers.check import check
from rewardable.workflows.verifiers.targets import RewardOptions

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

SOUND = ["countdown", "countdown-steps:policy=lenient", "divisible", "extraction", "logic-steps",
         "refusal", "routes-joint", "routes-instruction", "constraints"]  # fmt: skip


def probed(name, **options):
    return check(name, timeout_s=None, count=10, **options)


@pytest.mark.parametrize("spec", SOUND)
def test_the_verifiers_of_the_house_pass(spec):
    found = probed(spec)
    assert found.failed == ()
    same = found.table.one(probe="the same again")
    assert (same.value, same.n_prompts, same.n_graded) == (1.0, 10, 100)


def test_a_row_tells_how_many_prompts_it_rests_on():
    gold = probed("divisible").table.one(probe="gold")
    assert (gold.value, gold.high, gold.n_prompts, gold.n_graded) == (1.0, 1.0, 10, 10)
    assert gold.low == pytest.approx(0.6915, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "failed"),
    [
        ("Base", set()),
        ("Generous", {"empty", "echo", "hedge", "either place", "truncated", "adversarial"}),
        ("Deaf", {"gold"}),
        ("Brittle", {"adversarial"}),
        ("Moody", {"gold", "the same again"}),
        ("BothEnds", {"either place"}),
        ("trl_substring", {"echo", "hedge", "either place"}),
        ("verl_score", set()),
        ("trl_none", {"gold"}),
    ],
)
def test_each_fault_fails_its_probe(name, failed):
    found = probed(f"reward_functions:{name}", task="divisible")
    assert set(found.failed) == failed
    shown = {e.labels["probe"] for e in found.table.examples if e.labels["required"]}
    assert shown == failed - {"the same again", "either place"}


def test_many_guesses_with_the_right_one_among_them_are_refused():
    found = probed("reward_functions:trl_substring", task="routes-math")
    assert {"hedge", "shotgun", "either place"} <= set(found.failed)


def test_an_accident_on_a_few_prompts_can_be_allowed_but_gold_cannot():
    wrong = probed("reward_functions:trl_substring", task="divisible", allow=1.0)
    assert wrong.failed == ()
    assert probed("reward_functions:Deaf", task="divisible", allow=1.0).failed == ("gold",)


def test_a_hang_is_ended_and_named():
    name = "reward_functions:Slow"
    found = check(name, task="divisible", count=4, timeout_s=0.5)
    assert found.failed == ("adversarial",)
    (example,) = [e for e in found.table.examples if e.labels["required"]]
    assert example.labels["kind"] == "closing braces"
    assert example.labels["reason"] == "timeout: 0.5 s"


def test_where_any_prose_may_be_right_the_echo_is_only_told():
    table = probed("constraints").table
    assert table.select(probe="echo")[0].labels["result"] == "told"
    assert table.select(probe="gold")[0].labels["result"] == "not tried"
    assert "gives no right answer for 10 of 10 prompts" in table.notes[0]


def test_a_column_that_the_prompts_lack_is_named_at_once():
    with pytest.raises(ConfigError, match="label"):
        probed("reward_functions:needs_label", task="divisible")
    options = RewardOptions(columns={"label": "answer"})
    assert probed("reward_functions:needs_label", task="divisible", options=options).failed == ()


def test_a_bare_verifier_needs_a_task():
    with pytest.raises(ConfigError, match="--task"):
        probed("reward_functions:Base")
