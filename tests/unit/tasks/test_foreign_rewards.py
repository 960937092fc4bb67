"""Reward functions of other trainers as verifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Completion, Message, Outcome, Prompt, user_prompt
from rewardable.tasks.foreign import reward_verifier


@pytest.fixture
def rewards(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "support"))
    import reward_functions

    return reward_functions


PROMPT = user_prompt("t", "1", "Is it?", {"answer": "YES", "n": 3})


def said(verifier, text, prompt=PROMPT):
    return verifier.verify(prompt, Completion(text=text))


def test_a_trl_function_gets_the_facts_as_columns(rewards):
    verifier = reward_verifier("m:f", rewards.trl_first_word)
    right, wrong = said(verifier, "YES\nand so on"), said(verifier, "NO")
    assert (right.outcome, right.score, right.parts) == (Outcome.CORRECT, 1.0, {"reward": 1.0})
    assert (wrong.outcome, wrong.reason) == (Outcome.WRONG, "reward below 1")
    assert verifier.signature == "trl"


def test_a_trl_function_on_conversations_gets_messages(rewards):
    verifier = reward_verifier("m:f", rewards.trl_chat, chat=True)
    assert said(verifier, "YES").outcome is Outcome.CORRECT
    with pytest.raises(TypeError):
        said(reward_verifier("m:f", rewards.trl_chat), "YES")


def test_none_and_no_number_leave_it_ungraded(rewards):
    assert said(reward_verifier("m:f", rewards.trl_none), "YES").reason == "the reward is None"
    odd = reward_verifier("m:f", lambda completions, **_: [float("nan")], signature="trl")
    assert said(odd, "YES").outcome is Outcome.UNGRADED


def test_a_verl_function_gets_the_truth_and_may_return_a_mapping(rewards):
    verifier = reward_verifier("m:f", rewards.verl_score)
    assert verifier.signature == "verl"
    right, wrong = said(verifier, "YES"), said(verifier, "NO")
    assert (right.outcome, right.parts) == (Outcome.CORRECT, {"reward": 1.0, "acc": 1.0})
    assert (wrong.outcome, wrong.score) == (Outcome.WRONG, 0.1)
    generous = reward_verifier("m:f", rewards.verl_score, success_at=0.1)
    assert said(generous, "NO").outcome is Outcome.CORRECT


def test_a_reward_outside_one_has_no_score():
    verifier = reward_verifier("m:f", lambda completions, **_: [2.5], signature="trl")
    verdict = said(verifier, "x")
    assert (verdict.outcome, verdict.score, verdict.parts["reward"]) == (Outcome.CORRECT, None, 2.5)


def test_a_missing_column_is_named_and_can_be_mapped(rewards):
    verifier = reward_verifier("m:f", rewards.needs_label)
    with pytest.raises(ConfigError, match=r"'label'.*answer, n.*--column label=FACT"):
        verifier.arguments(PROMPT)
    mapped = reward_verifier("m:f", rewards.needs_label, columns={"label": "answer"})
    mapped.arguments(PROMPT)
    assert said(mapped, "YES").outcome is Outcome.CORRECT
    with pytest.raises(ConfigError, match="Did you mean 'answer'"):
        reward_verifier("m:f", rewards.needs_label, columns={"label": "answr"}).arguments(PROMPT)


def test_what_a_verl_function_is_always_given_is_no_missing_column(rewards):
    verifier = reward_verifier("m:f", rewards.verl_score)
    verifier.arguments(PROMPT)
    bare = Prompt(task="t", task_version="1", messages=(Message(role="user", content="x"),))
    with pytest.raises(ConfigError, match="ground_truth"):
        verifier.arguments(bare)


@pytest.mark.parametrize(("name", "why"), [("neither", "solution_str"), ("waits", "coroutine")])
def test_functions_of_another_kind_are_refused(rewards, name, why):
    with pytest.raises(ConfigError, match=why):
        reward_verifier("m:f", getattr(rewards, name))


def test_a_list_of_another_length_is_an_error():
    verifier = reward_verifier("m:f", lambda completions, **_: [1.0, 0.0], signature="trl")
    with pytest.raises(TypeError, match="a list of one reward"):
        said(verifier, "x")


def test_the_version_is_that_of_the_source(rewards):
    first = reward_verifier("m:f", rewards.trl_first_word)
    assert first.version == reward_verifier("m:g", rewards.verl_score).version
    assert len(first.version) == 8
