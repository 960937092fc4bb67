"""A published grader's labels against the verifier of the same data set."""

from __future__ import annotations

import json

import pytest

from rewardable.store import Run
from rewardable.workflows.import_dump import import_dump
from rewardable.workflows.verifiers.diff import diff
from rewardable.workflows.verifiers.targets import load_target


def test_a_known_mistake_of_a_published_grader_is_the_only_flip(shared_data, tmp_path):
    """800 labelled samples of MATH: the label calls 10000 wrong where the reference is 10{,}000."""
    dump = shared_data / "data" / "rollouts" / "qwen25math_math_100x8.jsonl"
    fields = "prompt=question,completion=code,score=score,truth=answer,fact.answer=gt"
    import_dump(tmp_path / "run", dump, fields, task="math-100")
    found = diff(Run.open(tmp_path / "run"), load_target("math500"))
    (flip,) = [json.loads(line) for line in found.flips_file.read_text().splitlines()]
    assert (flip["old"], flip["new"], flip["shape"]) == ("wrong", "correct", "\\boxed{0}")
    assert flip["new_labels"] == {"answer": "10000"}
    assert found.rate == pytest.approx(1 / 800)
