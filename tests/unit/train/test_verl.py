"""verl's reward signature, on rows that travelled through its parquet."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.errors import BoundaryError, DataError
from rewardable.tasks import load_task
from rewardable.train.verl import compute_score, write_dataset

datasets = pytest.importorskip("datasets")
TASKS = ("countdown-steps:numbers=3,min_solutions=1", "divisible", "routes-math")


@pytest.mark.parametrize("name", TASKS)
def test_rows_come_back_with_what_the_verifier_needs(tmp_path: Path, name: str) -> None:
    path = tmp_path / "train.parquet"
    assert write_dataset(name, path, 6) == 6
    task = load_task(name)
    rows = datasets.Dataset.from_parquet(str(path))
    for row, prompt in zip(rows, task.prompts(6, 0), strict=True):
        right = task.gold_answers(prompt)[0]
        truth, info = row["reward_model"]["ground_truth"], row["extra_info"]
        paid = compute_score(row["data_source"], right, truth, info)
        assert (paid["score"], paid["acc"], paid["verdict"]) == (1.0, 1.0, "correct")
        assert paid["prompt_key"] == prompt.key
        wrong = compute_score(row["data_source"], "no idea", truth, info)
        assert (wrong["score"], wrong["acc"]) == (0.0, 0.0)
        assert row["prompt"][0]["content"] == prompt.text


def test_soft_rewards_pass_through(tmp_path: Path) -> None:
    write_dataset("divisible", tmp_path / "x.parquet", 4)
    rows = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"))
    row = next(r for r in rows if r["reward_model"]["ground_truth"] == "NO")
    soft = {"kind": "soft", "parts": {"answer": 0.7, "format": 0.3}}
    paid = compute_score("divisible", "It is NO", "NO", row["extra_info"], **soft)
    assert paid["score"] == pytest.approx(0.7)
    assert paid["acc"] == 0.0


def test_ungraded_is_no_number_unless_told(tmp_path: Path) -> None:
    write_dataset("divisible", tmp_path / "x.parquet", 1)
    (row,) = datasets.Dataset.from_parquet(str(tmp_path / "x.parquet"))
    broken = {**row["extra_info"], "facts": "{}"}
    with pytest.raises(BoundaryError, match="ungraded"):
        compute_score("divisible", "NO", "NO", broken)
    paid = compute_score("divisible", "NO", "NO", broken, ungraded=-1.0)
    assert paid["score"] == -1.0
    assert paid["acc"] != paid["acc"]


def test_foreign_rows_are_refused() -> None:
    with pytest.raises(DataError, match="write_dataset"):
        compute_score("divisible", "NO", "NO", {"index": 3})
