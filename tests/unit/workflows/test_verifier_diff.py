"""Flips between stored verdicts and a new verifier's, on a run folder whose texts are known."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Outcome, Verdict
from rewardable.store import Run
from rewardable.workflows.verifiers.diff import diff
from rewardable.workflows.verifiers.names import file_name
from rewardable.workflows.verifiers.rescore import named_verifier
from rewardable.workflows.verifiers.shapes import shape_of
from rewardable.workflows.verifiers.targets import RewardOptions, load_target, twin_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from graded_run import graded_run

ALL = {"policy": "all", "spec": "all"}
LENIENT = "divisible:policy=lenient"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run for all tests; a diff adds a table and a file, nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        return graded_run(tmp_path_factory.mktemp("diff") / "run", patch)


@pytest.fixture(scope="module")
def lenient(run):
    return diff(run, load_target(LENIENT))


@pytest.fixture
def own_run(run, tmp_path):
    """A copy that may be written to."""
    return Run.open(shutil.copytree(run.path, tmp_path / "run"))


def rows(run, verifier=None):
    """All rollouts with the verdicts stored for one verifier."""
    answers = {prompt.key: prompt.facts["answer"] for prompt in run.prompts()}
    return [
        (answers[rollout.id.prompt_key], rollout, verdict)
        for group in run.groups()
        for rollout, verdict in run.rollouts(
            policy_key=group.policy_key, spec_key=group.spec_key, verifier=verifier
        )
    ]


def freed(run):
    """Rollouts that only the lenient policy reads as the right word."""
    return [
        rollout
        for gold, rollout, _ in rows(run)
        if rollout.completion.text == f"The answer is {gold}"
    ]


def test_every_flip_is_found_counted_by_pattern_and_written(run, lenient):
    found = lenient
    expected = freed(run)
    assert found.flips == len(expected) > 20
    (pattern,) = [row for row in found.table.rows if row.labels["kind"] == "flip"]
    assert pattern.estimate.value == len(expected)
    said = {"old": "wrong", "new": "correct", "old_reason": "no answer", "new_reason": ""}
    assert said.items() <= pattern.labels.items()
    assert pattern.labels["labels"] == "answer: new"
    assert pattern.labels["shape"] == "a"
    lines = [json.loads(line) for line in found.flips_file.read_text().splitlines()]
    ids = {(r.id.policy_key, r.id.prompt_key, r.id.index) for r in expected}
    assert {(line["policy"], line["prompt"], line["index"]) for line in lines} == ids
    quoted = {example.completion for example in found.table.examples}
    assert quoted <= {"The answer is NO", "The answer is YES"}
    assert quoted


def test_rates_are_means_over_prompts_with_an_interval(run, lenient):
    table = lenient.table
    per_prompt = Counter(rollout.id.prompt_key for rollout in freed(run))
    mean = sum(per_prompt.values()) / 16 / 30
    flips = table.one(**ALL, kind="rate", what="flips")
    assert flips.value == pytest.approx(mean)
    assert 0 < flips.low < mean < flips.high < 1
    assert (flips.n_prompts, flips.n_graded) == (30, 480)
    assert table.one(**ALL, kind="rate", what="wrong -> correct").value == pytest.approx(mean)
    assert table.one(**ALL, kind="rate", what="correct -> wrong").value == 0
    assert table.one(**ALL, kind="change", what="pass@1").value == pytest.approx(mean)
    halves = [
        table.one(policy=name, spec=row.labels["spec"], kind="rate", what="flips").value
        for name in ("before", "after")
        for row in table.select(policy=name, kind="rate", what="flips")
    ]
    assert sum(halves) / 2 == pytest.approx(mean)


def test_changed_labels_are_told_but_are_no_flips(run, lenient):
    table = lenient.table
    same = [row for row in table.rows if row.labels["kind"] == "same outcome"]
    assert {row.labels["old"] for row in same} == {"wrong"}
    both = sum(rollout.completion.text == "I think yes or no" for _, rollout, _ in rows(run))
    (several,) = [row for row in same if row.labels["new_reason"] == "several answers"]
    assert several.estimate.value == both


def test_nothing_stored_changes(run, lenient):
    parts = sorted(path.name for path in (run.path / "verdicts").iterdir())
    diff(run, load_target(LENIENT))
    assert sorted(path.name for path in (run.path / "verdicts").iterdir()) == parts
    assert not any(verdict for _, _, verdict in rows(run, "divisible-lenient"))
    assert run.tables()["verifier-diff divisible-lenient@2"] == lenient.table


def test_kept_verdicts_are_added_beside_the_old_ones(own_run):
    run = own_run
    found = diff(run, load_target(LENIENT), keep=True)
    assert found.kept == 480
    assert all(v.verifier == "divisible-lenient" for _, _, v in rows(run))
    assert all(v is not None for _, _, v in rows(run, "divisible-strict"))
    again = diff(run, load_target(LENIENT), old=("divisible-strict", "2"))
    assert again.flips == found.flips > 0


def test_a_verifier_whose_version_was_not_raised_is_not_kept(run):
    with pytest.raises(ConfigError, match="raise its version"):
        diff(run, load_target("divisible"), keep=True)
    found = diff(run, load_target("divisible"))
    assert (found.flips, found.rate) == (0, 0.0)
    assert any("raise its version" in note for note in found.table.notes)


def test_processes_find_the_same(run, lenient):
    there = diff(run, load_target(LENIENT), workers=1, timeout_s=20.0)
    assert there.table == lenient.table


def test_a_text_is_judged_once_a_prompt_and_policy(run):
    judged = []

    class Counting:
        name, version = "counting", "1"

        def verify(self, prompt, completion):
            judged.append((prompt.key, completion.text))
            return load_target("divisible").verifier.verify(prompt, completion)

    target = load_target("divisible")
    object.__setattr__(target, "verifier", Counting())
    assert diff(run, target).flips == 0
    texts = {(r.id.policy_key, r.id.prompt_key, r.completion.text) for _, r, _ in rows(run)}
    assert len(judged) == len(texts) < 480


def test_a_crash_of_the_new_verifier_is_a_flip_to_ungraded(run):
    target = load_target("reward_functions:trl_none")
    found = diff(run, target)
    correct = sum(v.outcome is Outcome.CORRECT for _, _, v in rows(run))
    rate = found.table.one(**ALL, kind="rate", what="correct -> ungraded")
    assert rate.value == pytest.approx(correct / 480)
    assert found.rate == 1.0
    assert not found.table.select(kind="change")


def test_a_reward_function_is_compared_as_it_is(run):
    found = diff(run, load_target("reward_functions:trl_first_word", RewardOptions()))
    dots = sum(g == "NO" and r.completion.text == "no." for g, r, _ in rows(run))
    assert found.flips == dots > 0


def test_what_was_never_judged_is_named(run):
    with pytest.raises(DataError, match=r"nothing@1.*divisible-strict@2"):
        diff(run, load_target(LENIENT), old=("nothing", "1"))
    with pytest.raises(ConfigError, match="task of the run"):
        diff(run, load_target(LENIENT), task="divisble")
    with pytest.raises(ConfigError, match="NAME@VERSION"):
        named_verifier("divisible-strict")


def test_twins_are_the_other_format_policy():
    assert twin_of("divisible", "divisible-strict").name == "divisible-lenient"
    assert twin_of("divisible", "divisible-lenient").name == "divisible-strict"
    assert twin_of("constraints:each=1", "constraints-strict").name == "constraints-loose"
    assert twin_of("refusal", "refusal") is None
    assert twin_of("m:attr", "x") is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("divisble", "Did you mean 'divisible'"),
        ("reward_functions:nothing", "cannot load"),
        ("reward_functions:NUMBER", "expected a task, a verifier"),
        ("reward_functions:neither", "solution_str"),
        ("reward_functions:OBJECT:a=1", "takes no options"),
    ],
)
def test_targets_that_are_none_are_refused(name, why):
    with pytest.raises(ConfigError, match=why):
        load_target(name)


def test_targets_may_be_objects_classes_tasks_and_functions():
    assert load_target("reward_functions:OBJECT").verifier.name == "mine"
    assert load_target("reward_functions:Generous").verifier.version == "2"
    assert load_target("reward_functions:TASK").task.name == "divisible"
    assert load_target("reward_functions:verl_score").verifier.name == "reward_functions:verl_score"


@pytest.mark.parametrize(
    ("text", "labels", "shape"),
    [
        ("so \\boxed{1{,}250}", {"answer": "1250"}, "\\boxed{0{,}0}"),
        ("so \\boxed{\\frac{17}{3}}", {}, "\\boxed{\\frac{0}{0}}"),
        ("<answer>(3 + 4) * x</answer>", {}, "(0 + 0) * a"),
        ("it is\n#### 12.50", {}, "#### 0.0"),
        ("It is YES, I think", {"answer": "YES"}, "a"),
        ("first\nthe last line has 3 words", {}, "a a 0 a"),
        ("", {}, ""),
        ("\\boxed{" + "1+" * 90 + "1}", {}, "\\boxed{" + "0+" * 26 + "0..."),
    ],
)
def test_shapes_mask_numbers_and_words(text, labels, shape):
    verdict = Verdict(outcome=Outcome.WRONG, verifier="v", version="1", labels=labels)
    assert shape_of(verdict, verdict, text) == shape


def test_names_of_files_are_short_and_told_apart():
    assert file_name("gsm8k a/b@1") == "gsm8k a%2Fb@1"
    first, second = (file_name("x" * 300 + end) for end in "ab")
    assert first != second
    assert len(first) < 160
