"""``restore`` on real weights: pocket sharpened until its support is gone, and pocket itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from rewardable.engines import EngineOptions, open_engine
from rewardable.results import Table, table_from_json
from rewardable.workflows.demo import TASK
from rewardable.workflows.events import Event
from rewardable.workflows.merging import write_merge
from rewardable.workflows.restoring import (
    Objective,
    RestoreConfig,
    RestoreResult,
    restore,
)
from rewardable.workflows.sources import resolve_source


@pytest.fixture(scope="module")
def sharp(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Pocket with logits four times as large: nearly greedy, so that most solutions are lost."""
    torch.set_num_threads(1)
    engine: Any = open_engine(resolve_source("pocket"), EngineOptions(device="cpu"))
    folder = tmp_path_factory.mktemp("models") / "sharp"
    with torch.no_grad():
        engine.loaded.model.model.norm.weight.mul_(4.0)
    engine.loaded.model.save_pretrained(folder)
    engine.loaded.tokenizer.save_pretrained(folder)
    return str(folder)


def config(sharp: str, **changed: Any) -> RestoreConfig:
    told: dict[str, Any] = {
        "trained": sharp,
        "earlier": (resolve_source("pocket"),),
        "task": TASK,
        "margin": 0.3,
        "objective": Objective(k=8),
        "families": ("uniform", "logits"),
        "alphas": (0.8,),
        "prompts": 12,
        "share": 0.9,
        "confirm_prompts": 12,
        "temperatures": (),
        "max_new_tokens": 48,
        **changed,
    }
    return RestoreConfig(**told)


@pytest.fixture(scope="module")
def found(sharp: str, tmp_path_factory: pytest.TempPathFactory) -> RestoreResult:
    return restore(tmp_path_factory.mktemp("restored") / "out", config(sharp))


def values(table: Table, **labels: Any) -> dict[str, float]:
    rows = table.select(**labels)
    return {str(row.labels["policy"]): row.estimate.value or 0.0 for row in rows}


def test_a_merge_or_mix_regains_coverage_and_both_splits_are_shown(found: RestoreResult):
    assert found.chosen is not None
    for split in ("selection", "confirmation"):
        coverage = values(found.table, split=split, of="level", metric="coverage@8")
        assert coverage[found.chosen.name] > coverage["trained"]
    assert {str(row.labels["role"]) for row in found.table.rows} >= {
        "trained",
        "chosen",
        "baseline",
    }
    assert any("Confirmation (12 other prompts)" in note for note in found.verdict)


def test_the_folder_holds_table_report_and_policy(found: RestoreResult):
    stored = table_from_json((found.path / "restore.json").read_text("utf-8"))
    assert stored.notes == found.verdict
    page = found.report.read_text("utf-8")
    assert page.count("<svg") >= 2
    assert "coverage@8" in page
    assert not any((found.path / "weights").glob("*"))
    assert found.chosen is not None
    if found.chosen.recipe is None:
        assert found.source.startswith("mix:")
        assert any(found.source in note for note in found.verdict)
        return
    provenance = json.loads((found.path / "restored" / "provenance.json").read_text("utf-8"))
    assert provenance["evidence"]["confirmed"] == found.confirmed
    assert provenance["evidence"]["search"] == list(found.verdict)


def test_run_again_it_draws_nothing_and_says_the_same(found: RestoreResult, sharp: str):
    told: list[Event] = []
    again = restore(found.path, config(sharp), told.append)
    assert again.rollouts == 0
    assert again.verdict == found.verdict
    assert {event.stage.partition(" ")[0] for event in told} >= {"rung"}


def test_with_nothing_certified_nothing_is_written(sharp: str, tmp_path: Path):
    earlier = resolve_source("pocket")
    one = config(
        earlier,
        earlier=(sharp,),
        families=("uniform",),
        alphas=(1.0,),
        prompts=8,
        confirm_prompts=8,
        baselines=False,
    )
    result = restore(tmp_path / "out", one)
    assert result.chosen is None
    assert result.source == ""
    assert not (tmp_path / "out" / "restored").exists()
    assert "nothing was written" in result.verdict[0]


def test_one_merge_by_hand(sharp: str, tmp_path: Path):
    report = write_merge(
        {"trained": sharp, "earlier": "pocket", "alpha": 0.25, "window": [0, 2]},
        tmp_path / "out",
    )
    assert report.mixed > 0
    assert (tmp_path / "out" / "config.json").is_file()
