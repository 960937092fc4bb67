"""Wording is counted once at grading, is true of the rows at hand, and survives interruption."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rewardable.collect.wording import mask, opening, words, written_steps
from rewardable.records import (
    WORDING_VERSION,
    Completion,
    FinishReason,
    Policy,
    Rollout,
    RolloutId,
    SamplingSpec,
    failed_completion,
    user_prompt,
)
from rewardable.store import Run, WordingBook
from rewardable.workflows.events import ignore
from rewardable.workflows.wording import ORDERS, keep_wording

POLICY = Policy(name="base", weights="w", template="raw")
SPEC = SamplingSpec()
PROMPTS = sorted((user_prompt("t", "1", f"q{i}") for i in range(3)), key=lambda one: one.key)
KEYS = [prompt.key for prompt in PROMPTS]


def rollout(prompt, index, text):
    where = RolloutId(policy_key=POLICY.key, spec_key=SPEC.key, prompt_key=KEYS[prompt],
                      index=index)  # fmt: skip
    done = Completion(text=text, finish_reason=FinishReason.STOP)
    return Rollout(id=where, completion=failed_completion("boom") if text is None else done)


@pytest.fixture
def run(tmp_path):
    run = Run.create(tmp_path / "run", {"a": 1})
    run.add_policies([POLICY])
    run.add_specs([SPEC])
    run.add_prompts(PROMPTS)
    return run


def keep(run, first=0):
    return keep_wording(run, KEYS, ignore, task="t", first=first)


def read(run, first=0):
    n_rows = Counter(one.prompt_key for one in run.rollout_ids(POLICY.key, SPEC.key))
    return WordingBook(run.path).read(POLICY.key, SPEC.key, n_rows, WORDING_VERSION, first)


def plain(texts, order):
    """Independent count: Counter of n-grams as tuples, by the number of texts that hold each."""
    rows = [[tuple(w[i : i + order]) for i in range(len(w) - order + 1)] for w in map(words, texts)]
    held = Counter(gram for row in rows for gram in set(row))
    return Counter(held.values()), sum(map(len, rows))


TEXTS = [["a b a b a b c", "a b c", "x"], ["1+2=3, 4*5=20", "1+2=4"], ["", "same one", "same one"]]


def fill(run):
    run.add_rollouts([rollout(p, i, text) for p, own in enumerate(TEXTS)
                      for i, text in enumerate(own)])  # fmt: skip


def test_stored_counts_equal_plain_counting(run):
    fill(run)
    assert keep(run) == 3
    found = read(run)
    assert found.prompt_keys == tuple(KEYS)
    assert found.n_P.tolist() == [3, 2, 3]
    for p, own in enumerate(TEXTS):
        for order in ORDERS:
            mine = (found.prompt_S == p) & (found.order_S == order)
            stored = dict(zip(found.seen_S[mine], found.number_S[mine], strict=True))
            expected, total = plain(own, order)
            assert stored == expected
            assert found.total_PO[p, order - 1] == total
    np.testing.assert_allclose(found.repetition_R[0], 1 - 3 / 4)
    assert np.isnan(found.repetition_R[1:3]).all()
    assert found.steps_R[found.prompt_R == 1].tolist() == [2, 0]
    form = found.form_R[found.prompt_R == 2]
    assert form[1] == form[2] != form[0]


def test_kept_once_and_anew_when_rows_are_added_or_drawn_again(run):
    fill(run)
    assert [keep(run), keep(run)] == [3, 0]
    run.add_rollouts([rollout(0, 3, None)])
    assert read(run).prompt_keys == tuple(KEYS[1:])
    assert keep(run) == 1
    assert read(run).n_P.tolist() == [3, 2, 3]
    run.replace_failed([rollout(0, 3, "new text")])
    assert read(run).prompt_keys == tuple(KEYS[1:])
    assert keep(run) == 1
    assert read(run).n_P.tolist() == [4, 2, 3]
    assert keep(run, first=2) == 3
    assert read(run, first=2).n_P.tolist() == [2, 2, 2]
    run.add_rollouts([rollout(1, 2, "beyond the first two")])
    assert read(run, first=2).n_P.tolist() == [2, 2, 2]


def test_a_prompt_whose_rows_all_failed_has_figures_of_nothing(run):
    run.add_rollouts([rollout(0, 0, None), rollout(1, 0, "one")])
    assert [keep(run), keep(run)] == [2, 0]
    assert read(run).n_P.tolist() == [0, 1]


def test_an_interrupted_count_goes_on_where_it_was(run, monkeypatch):
    fill(run)
    added = WordingBook.add

    def stop_after_one(self, wordings):
        added(self, wordings[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(WordingBook, "add", stop_after_one)
    with pytest.raises(KeyboardInterrupt):
        keep(run)
    monkeypatch.setattr(WordingBook, "add", added)
    assert keep(run) == 2
    assert len(read(run).prompt_keys) == 3


def test_two_counters_at_once_leave_one_figure(run):
    fill(run)
    book = WordingBook(run.path)
    stale = list(book.stale(KEYS, WORDING_VERSION, 0))
    assert keep(run) == 3
    assert [one.prompt_key for one in stale] == KEYS
    run_again = WordingBook(run.path)
    assert run_again.n_stale(KEYS, WORDING_VERSION, 0) == 0
    assert run_again.n_stale(KEYS, WORDING_VERSION + 1, 0) == 3


def test_broken_characters_are_counted(run):
    run.add_rollouts([rollout(0, 0, "half \ud800 pair"), rollout(0, 1, "half \ud801 pair")])
    assert keep(run) == 1
    found = read(run)
    assert found.form_R[0] != found.form_R[1]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("44 + 19 = 63\n63 - 35 = 28", 2),
        ("$4 \\times 7 = 28$ and 28 − 9 = 19", 2),
        ("4*7=28,28-9=19", 2),
        ("4*7-9=19", 0),
        ("4*7=28-9=19", 0),
        ("2+2=5", 0),
        ("3/4=0.75; (3/4)=1", 1),
        ("7-(-2)=9 7-9=(-2)", 2),
        ("1/0=3", 0),
        ("x = 3 = y", 0),
    ],
)
def test_right_calculations_are_told_from_others(text, steps):
    assert written_steps(text) == steps


def test_forms_and_openings():
    assert mask("So  12 + 3.5 =\n 1,000!") == "So # + # = #!"
    assert opening("a b c d e f g h i j") == opening("a b c d e f g h z") == "a b c d e f g h"
    assert opening("") == ""
