import statistics

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.protocols import Task, Verifier
from rewardable.records import Completion, Outcome
from rewardable.tasks import load_task
from rewardable.tasks.countdown import is_test_key, solve, split_key, step_texts

SPECS = [
    "countdown",
    "countdown:numbers=3-5",
    "countdown:integers_only=true,rule=division",
    "countdown:rule=start",
    "countdown-steps",
    "countdown-steps:numbers=4,values=1-10",
    "countdown-steps:policy=lenient",
    "countdown-steps-division",
    "countdown-steps-start",
]


@pytest.mark.parametrize("spec", SPECS)
def test_same_seed_same_prompts_and_larger_counts_continue(spec):
    task = load_task(spec)
    assert isinstance(task, Task)
    assert isinstance(task.verifier, Verifier)
    few, more = task.prompts(10, 3), task.prompts(15, 3)
    assert more[:10] == few
    assert len({prompt.key for prompt in more}) == 15
    assert len({prompt.facts["split_key"] for prompt in more}) == 15
    assert task.prompts(10, 4) != few
    assert {prompt.task for prompt in more} == {task.name}
    assert [prompt.key for prompt in load_task(task.name).prompts(10, 3)] == [p.key for p in few]


@pytest.mark.parametrize("spec", [spec for spec in SPECS if "steps" in spec])
def test_totals_of_steps_are_what_valid_texts_show(spec):
    task = load_task(spec)
    for prompt in task.prompts(12, 0):
        numbers, target = prompt.facts["numbers"], prompt.facts["target"]
        assert prompt.text == f"{','.join(map(str, numbers))}={target}:"
        labels = {"solution": set(), "entry": set()}
        for step in step_texts(numbers, target, rationals=True):
            found = task.verifier.verify(prompt, Completion(text=step.text))
            if found.outcome is Outcome.CORRECT:
                for kind, names in labels.items():
                    names.add(found.labels[kind])
        assert {kind: len(names) for kind, names in labels.items()} == prompt.facts["totals"]
        assert prompt.facts["totals"]["solution"] >= 1


@pytest.mark.parametrize("rule", ["any", "division", "start"])
@pytest.mark.parametrize("integers_only", ["true", "false"])
def test_totals_of_expressions_are_what_texts_show(brute, rule, integers_only):
    task = load_task(f"countdown:numbers=3,rule={rule},integers_only={integers_only}")
    for prompt in task.prompts(12, 0):
        numbers = prompt.facts["numbers"]
        labels = {"solution": set(), "entry": set()}
        for tree in brute.trees(tuple(range(3))):
            response = f"<answer>{brute.text(tree, numbers)}</answer>"
            found = task.verifier.verify(prompt, Completion(text=response))
            if found.outcome is Outcome.CORRECT:
                for kind, names in labels.items():
                    names.add(found.labels[kind])
        assert {kind: len(names) for kind, names in labels.items()} == prompt.facts["totals"]


def test_difficulty_is_the_number_of_solutions():
    for prompt in load_task("countdown:min_solutions=4,max_solutions=9").prompts(20, 1):
        solutions = solve(prompt.facts["numbers"], prompt.facts["target"])
        assert prompt.facts["difficulty"]["solutions"] == len(solutions)
        assert 4 <= len(solutions) <= 9


def test_splits_share_no_key():
    train = load_task("countdown-steps:split=train").prompts(300, 0)
    test = load_task("countdown-steps:split=test").prompts(300, 0)
    keys = [{prompt.facts["split_key"] for prompt in prompts} for prompts in (train, test)]
    assert not keys[0] & keys[1]
    assert not any(map(is_test_key, keys[0]))
    assert all(map(is_test_key, keys[1]))


def test_split_key_ignores_the_order_of_the_numbers():
    assert split_key([9, 4, 7], 19) == split_key((4, 7, 9), 19) == "4,7,9|19"


def test_about_one_key_in_five_is_a_test_key():
    share = statistics.mean(
        is_test_key(split_key((a, b, 3), 20)) for a in range(60) for b in range(60)
    )
    assert 0.17 < share < 0.23


def test_ranges_are_kept():
    for prompt in load_task("countdown-steps:numbers=3-4,values=2-9,targets=20-30").prompts(40, 0):
        assert len(prompt.facts["numbers"]) in (3, 4)
        assert all(2 <= number <= 9 for number in prompt.facts["numbers"])
        assert 20 <= prompt.facts["target"] <= 30


def test_the_words_state_the_rules():
    (prompt,) = load_task("countdown:rule=start,integers_only=true").prompts(1, 0)
    assert f"must be {prompt.facts['start']}." in prompt.text
    assert "integer" in prompt.text


def test_a_supply_that_ends_is_a_data_error():
    task = load_task("countdown-steps:values=1-2,targets=5-6,split=all")
    with pytest.raises(DataError, match=r"found \d+ distinct"):
        task.prompts(500, 0)


@pytest.mark.parametrize(
    "spec", ["countdown:numbers=7", "countdown-steps:numbers=6", "countdown:min_solutions=0"]
)
def test_options_that_cannot_be_meant(spec):
    with pytest.raises(ConfigError):
        load_task(spec)
