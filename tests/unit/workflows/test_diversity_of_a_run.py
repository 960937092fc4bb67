"""Diversity and shape of a stored run, every figure worked out by hand or by enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rewardable.collect.wording import words
from rewardable.measure import MeasureConfig
from rewardable.measure.shape import shape_table
from rewardable.measure.study import load_study
from rewardable.metrics import StoppingRule
from rewardable.records import (
    Completion,
    FinishReason,
    Graded,
    Outcome,
    Policy,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    failed_completion,
    user_prompt,
)
from rewardable.store import Run
from rewardable.workflows.events import ignore
from rewardable.workflows.wording import keep_wording

SPEC = SamplingSpec(max_new_tokens=50)
BASE, TRAINED = (Policy(name=name, weights=name, template="raw") for name in ("base", "trained"))
FACTS = {"numbers": [4, 7, 9], "target": 19}
PROMPTS = sorted((user_prompt("t", "1", f"q{i}", FACTS) for i in range(2)), key=lambda p: p.key)
KEYS = [prompt.key for prompt in PROMPTS]
SHORT, LONG, NO = "4*7-9", "4*7=28, then 28-9=19", "no idea"
TEXTS = {
    BASE.key: [[SHORT, LONG, NO, NO], [LONG, LONG, "7*4=28", NO]],
    TRAINED.key: [[SHORT] * 4, [SHORT, SHORT, NO, NO]],
}
RIGHT = {SHORT, LONG}


def row(policy, prompt, index, text):
    where = RolloutId(policy_key=policy, spec_key=SPEC.key, prompt_key=KEYS[prompt], index=index)
    ids = tuple(range(len(text or "")))
    done = Completion(text=text or "", token_ids=ids, finish_reason=FinishReason.STOP)
    return Rollout(id=where, completion=failed_completion("boom") if text is None else done)


def said(rollout):
    text = rollout.completion.text
    if rollout.completion.failure:
        return Graded(id=rollout.id, verdict=Verdict(outcome=Outcome.UNGRADED, verifier="v",
                                                     version="1", reason="failed"))  # fmt: skip
    right = text in RIGHT
    return Graded(
        id=rollout.id,
        verdict=Verdict(
            outcome=Outcome.CORRECT if right else Outcome.WRONG,
            verifier="v",
            version="1",
            parts={"format": float(text != NO)},
            labels={"answer": "19" if right else "28"} if text != NO else {},
        ),
    )


def fill(path, texts=TEXTS):
    run = Run.create(path, {"a": 1})
    run.add_policies([BASE, TRAINED])
    run.add_specs([SPEC])
    run.add_prompts(PROMPTS)
    rows = [row(policy, p, i, text) for policy, own in texts.items()
            for p, some in enumerate(own) for i, text in enumerate(some)]  # fmt: skip
    run.add_rollouts(rows)
    run.add_verdicts([said(one) for one in rows])
    return run


def shape(run, **options):
    told = MeasureConfig(base=BASE.key, trained=(TRAINED.key,), group=2, **options)
    return shape_table(load_study(run, told))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    run = fill(tmp_path_factory.mktemp("shape") / "run")
    keep_wording(run, KEYS, ignore, task="t")
    return shape(run)


def value(table, metric, policy="base", **labels):
    return table.one(metric=metric, policy=policy, **labels).value


def test_texts_answers_and_format(table):
    assert value(table, "distinct outputs", k=4) == 3.0
    assert value(table, "distinct outputs", "trained", k=4) == 1.5
    assert table.one(metric="distinct outputs", k=4, after="trained").value == -1.5
    second = (2 / 3) * 0.5 + (1 / 3) * (1 + 1 / 2)
    assert value(table, "answer entropy") == pytest.approx((0 + second) / 2)
    assert value(table, "format compliance") == pytest.approx((2 / 4 + 3 / 4) / 2)
    assert value(table, "format compliance", "trained") == pytest.approx((1 + 0.5) / 2)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_distinct_n_equals_sets_of_tuples(table, order):
    for policy in (BASE, TRAINED):
        shares, adjusted = [], []
        for own in TEXTS[policy.key]:
            grams = [tuple(w[i : i + order]) for w in map(words, own)
                     for i in range(len(w) - order + 1)]  # fmt: skip
            shares.append(len(set(grams)) / len(grams))
            uniform = 50_000 * (1 - (1 - 1 / 50_000) ** len(grams))
            adjusted.append(len(set(grams)) / uniform)
        found = value(table, f"distinct-{order}", policy.name, k=4)
        assert found == pytest.approx(np.mean(shares))
        assert value(table, f"adjusted distinct-{order}", policy.name, k=4) == pytest.approx(
            np.mean(adjusted)
        )


def test_skipped_steps_are_of_right_answers(table):
    assert value(table, "right answers that skip steps") == pytest.approx((1 / 2 + 0) / 2)
    assert value(table, "right answers that skip steps", "trained") == 1.0
    rise = table.one(metric="right answers that skip steps", after="trained")
    assert rise.value == pytest.approx(0.75)
    assert rise.low <= 0.75 <= rise.high


def test_template_reuse_equals_all_pairs(table):
    for policy in (BASE, TRAINED):
        first, second = TEXTS[policy.key]
        masks = [["#*#-#" if t == SHORT else t for t in own] for own in (first, second)]
        masks = [["#*#=#" if t == "7*4=28" else t for t in own] for own in masks]
        plain = np.mean([a == b for a in masks[0] for b in masks[1]])
        assert value(table, "template reuse, whole text", policy.name) == pytest.approx(plain)


def test_lengths_of_right_and_wrong_answers(table):
    own = TEXTS[BASE.key]
    right = [[len(t) for t in some if t in RIGHT] for some in own]
    wrong = [[len(t) for t in some if t not in RIGHT] for some in own]
    for name, groups in (("right", right), ("wrong", wrong)):
        found = value(table, f"mean length, {name} answers")
        assert found == pytest.approx(np.mean([np.mean(some) for some in groups]))
        for q in (10, 50, 90):
            plain = np.mean([np.quantile(some, q / 100, method="inverted_cdf") for some in groups])
            found = value(table, f"length, {q} % quantile, {name} answers")
            assert found == pytest.approx(plain)


def test_few_prompts_certify_no_change_of_length(table):
    changes = [row for row in table.rows if "after" in row.labels]
    assert len(changes) > 20
    assert {row.labels["certified"] for row in changes} == {"none"}
    bound = table.one(metric="length", after="trained")
    assert -50 <= bound.low < bound.value < bound.high <= 50


def test_a_run_without_figures_is_measured_and_says_so(tmp_path):
    found = shape(fill(tmp_path / "run"))
    assert value(found, "distinct outputs", k=4) == 3.0
    assert not found.select(metric="distinct-1")
    note = next(text for text in found.notes if "rewardable grade" in text)
    assert "base, trained" in note


def test_figures_of_rows_that_came_later_are_not_used(tmp_path):
    run = fill(tmp_path / "run")
    keep_wording(run, KEYS, ignore, task="t")
    late = row(TRAINED.key, 0, 4, NO)
    run.add_rollouts([late])
    run.add_verdicts([said(late)])
    found = shape(run)
    assert found.select(metric="distinct-1", policy="base")
    assert not found.select(metric="distinct-1", policy="trained")
    assert any("trained was not counted" in text for text in found.notes)


def test_failed_rollouts_are_no_outputs(tmp_path):
    texts = {BASE.key: [["a", "b", None, None], ["a", "a", "a", "a"]],
             TRAINED.key: TEXTS[TRAINED.key]}  # fmt: skip
    run = fill(tmp_path / "run", texts)
    keep_wording(run, KEYS, ignore, task="t")
    found = shape(run)
    assert value(found, "distinct outputs", k=2) == pytest.approx((2 + 1) / 2)
    form = found.one(metric="format compliance", policy="base")
    assert (form.value, form.bound_low, form.bound_high) == (1.0, 0.75, 1.0)


def test_adaptive_runs_are_compared_at_their_first_rollouts(tmp_path):
    rule = StoppingRule(successes=1, cap=4, first=2, step=2)
    texts = {BASE.key: [[SHORT, NO], [NO, NO, NO, SHORT]],
             TRAINED.key: [[SHORT, SHORT], [SHORT, NO]]}  # fmt: skip
    run = fill(tmp_path / "run", texts)
    keep_wording(run, KEYS, ignore, task="t", first=rule.first)
    found = shape(run, stopping=rule)
    first = [some[:2] for some in texts[BASE.key]]
    plain = [len({w for t in some for w in words(t)}) / sum(len(words(t)) for t in some)
             for some in first]  # fmt: skip
    assert value(found, "distinct-1", k=2) == pytest.approx(np.mean(plain))
    assert not any("rewardable grade" in text for text in found.notes)


def test_distinct_outputs_at_fewer_equal_all_subsets(tmp_path):
    texts = {BASE.key: TEXTS[BASE.key], TRAINED.key: [["x", "y", "y"], ["x", "x", "z", "z"]]}
    run = fill(tmp_path / "run", texts)
    found = value(shape(run), "distinct outputs", k=3)
    plain = [np.mean([len(set(some)) for some in combinations(own, 3)]) for own in TEXTS[BASE.key]]
    assert found == pytest.approx(np.mean(plain))
