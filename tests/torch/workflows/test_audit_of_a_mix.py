"""A mix is audited like any other policy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rewardable.workflows.config import RunConfig
from rewardable.workflows.grade import grade
from rewardable.workflows.measure import measure
from rewardable.workflows.sample import open_run, sample
from rewardable.workflows.sources import resolve_source

safetensors = pytest.importorskip("safetensors.torch")


def test_a_mix_is_sampled_graded_and_measured(tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(resolve_source("pocket"), other)
    weights = safetensors.load_file(other / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"] * 1.1
    safetensors.save_file(weights, other / "model.safetensors", metadata={"format": "pt"})
    mixes = tuple(
        resolve_source(f"mix:{head},{other},pocket")
        for head in ("logits,alpha=0.3,first=4", "checkpoints,weights=3/1")
    )
    small = {"task": "countdown-steps", "n": 8, "prompts": 4, "max_new_tokens": 40, "group": 4}
    config = RunConfig(policies=(resolve_source("pocket"), *mixes), **small)
    run = open_run(tmp_path / "run", config)
    first = sample(run, config)
    assert (first.new, first.failed) == (96, 0)
    assert sample(run, config).new == 0
    grade(run)
    tables = measure(run)
    assert {policy.source for policy in run.policies()} == set(config.policies)
    told = str(list(tables.values()))
    assert all(policy.name in told for policy in run.policies())
