"""Imported dumps measured by us, beside figures computed from the raw files by other formulas."""

from __future__ import annotations

import json
from collections import Counter
from math import comb
from pathlib import Path

import numpy as np
import pytest

from rewardable.workflows.import_dump import import_dump
from rewardable.workflows.measure import measure
from rewardable.workflows.runs import open_existing


def human_eval_pass_at_k(n: int, c: int, k: int) -> float:
    """Chen et al. 2021, the product form of openai/human-eval's ``estimate_pass_at_k``."""
    if n - c < k:
        return 1.0
    return float(1.0 - np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))


def test_qwen_rollouts(shared_data: Path, tmp_path: Path) -> None:
    dump = shared_data / "data" / "rollouts" / "qwen25math_math_100x8.jsonl"
    fields = "prompt=question,completion=code,score=score,prompt_id=idx,label.answer=pred"
    report = import_dump(tmp_path / "run", dump, fields, policy="qwen")
    assert (report.n_correct, report.n_wrong, report.n_ungraded) == (728, 72, 0)

    tables = measure(open_existing(tmp_path / "run"))
    curves = tables["curves"]
    raw = [json.loads(line) for line in dump.read_text(encoding="utf-8").split("\n") if line]
    for k in (1, 2, 4, 8):
        wanted = np.mean([human_eval_pass_at_k(8, sum(row["score"]), k) for row in raw])
        got = curves.one(metric="pass@k", k=k, band="simultaneous")
        assert got.value == pytest.approx(wanted, abs=1e-12)
        assert got.low is not None
        assert got.high is not None
        assert got.low <= wanted <= got.high
        assert (got.n_prompts, got.n_graded) == (100, 800)
        all_right = curves.one(metric="pass^k", k=k, band="simultaneous")
        assert all_right.value == pytest.approx(
            np.mean([comb(sum(row["score"]), k) / comb(8, k) for row in raw]), abs=1e-12
        )
        voted = curves.one(metric="maj@k", k=k, band="simultaneous")
        assert got.value >= voted.value >= all_right.value
    everyone = np.mean([votes_of_all(row["pred"], row["score"]) for row in raw])
    assert voted.value == pytest.approx(everyone, abs=1e-12)
    share = np.mean([0 < sum(row["score"]) < 8 for row in raw])
    found = tables["trainability"]
    assert found.one(metric="trainability", group=8).value == pytest.approx(share)
    assert found.one(metric="useful groups").value == pytest.approx(32 * share)
    assert tables["models"].rows[0].estimate.value is None


def votes_of_all(answers: list[str], right: list[bool]) -> float:
    """Share of the commonest answers that are right; empty ones do not vote."""
    count = Counter(answer for answer in answers if answer.strip())
    if not count:
        return 0.0
    first = [answer for answer, times in count.items() if times == max(count.values())]
    truth = dict(zip(answers, right, strict=True))
    return sum(bool(truth[answer]) for answer in first) / len(first)


def test_pythia_counts(shared_data: Path, tmp_path: Path) -> None:
    name = "pass_at_k_large_language_monkeys_pythia.jsonl"
    dump = shared_data / "data" / "rollouts" / name
    fields = "policy=model,task=benchmark,prompt_id=problem_idx,n=n,c=c"
    report = import_dump(tmp_path / "run", dump, fields)
    assert report.n_counts == 1792

    curves = measure(open_existing(tmp_path / "run"), base="Pythia 12B")["curves"]
    raw = [json.loads(line) for line in dump.read_text(encoding="utf-8").split("\n") if line]
    arms = sorted({(row["model"], row["benchmark"]) for row in raw})
    assert len(arms) == 14
    for model, task in arms:
        for k in (1, 64, 128):
            rows = [r for r in raw if (r["model"], r["benchmark"]) == (model, task)]
            # the file's own unbiased values, made by others
            wanted = np.mean([r["pass_at_k"][r["k"].index(k)] for r in rows])
            got = curves.one(task=task, policy=model, metric="pass@k", k=k, band="simultaneous")
            assert got.value == pytest.approx(wanted, abs=1e-9)
