"""``locate`` on real checkpoints: caching, noise, vocabularies, and free text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from rewardable.engines import EngineOptions, open_engine
from rewardable.errors import ConfigError
from rewardable.locate.look import Look
from rewardable.locate.token_tables import NOISE
from rewardable.workflows.config import RunConfig
from rewardable.workflows.demo import TASK
from rewardable.workflows.locate import locate
from rewardable.workflows.locating.config import LocateConfig
from rewardable.workflows.sources import resolve_source

LOOK = Look(forced_n=4, families=4, sequences=2, doses=(1, 2), dose_n=4, reference="first")


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Pocket with a shift far below any finding, and pocket sharpened."""
    torch.set_num_threads(1)
    found = {}
    for name, factor in (("twin", 1 + 1e-6), ("sharp", 2.0)):
        engine: Any = open_engine(resolve_source("pocket"), EngineOptions(device="cpu"))
        folder = tmp_path_factory.mktemp("models") / name
        with torch.no_grad():
            engine.loaded.model.model.norm.weight.mul_(factor)
        engine.loaded.model.save_pretrained(folder)
        engine.loaded.tokenizer.save_pretrained(folder)
        found[name] = str(folder)
    return found


def config(*policies: str, prompts: int = 24) -> LocateConfig:
    run = RunConfig(policies=policies, task=TASK, n=8, prompts=prompts, max_new_tokens=48)
    return LocateConfig(run=run, look=LOOK)


def test_a_policy_against_its_twin_is_no_finding(copies: dict[str, str], tmp_path: Path):
    result = locate(tmp_path / "out", config(resolve_source("pocket"), copies["twin"]))
    tables = result.tables
    for row in tables["likelihood"].select(metric="|change| a token"):
        assert row.estimate.value is not None
        assert row.estimate.value < NOISE
    for name in ("entries", "openings"):
        for row in tables[name].rows:
            if "change" in str(row.labels["metric"]) or "part" in str(row.labels["metric"]):
                assert not row.estimate.excludes_zero, row
    drift = tables["drift"].select(metric="cosine distance")
    assert max(row.estimate.value or 0.0 for row in drift) < 1e-6


def test_every_method_says_something_and_nothing_is_done_twice(
    copies: dict[str, str], tmp_path: Path
):
    asked = config(resolve_source("pocket"), copies["sharp"])
    first = locate(tmp_path / "out", asked)
    methods = {"entries", "likelihood", "entropy", "openings", "interventions", "drift", "series"}
    assert methods < set(first.tables)
    assert all(first.tables[name].rows for name in methods)
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.parquet")}
    scores = sorted((tmp_path / "out" / "scores").iterdir())
    again = locate(tmp_path / "out", asked)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.parquet")} == made
    assert sorted((tmp_path / "out" / "scores").iterdir()) == scores
    assert again.tables["likelihood"] == first.tables["likelihood"]
    page = first.report.read_text(encoding="utf-8")
    assert all(f'id="{name}"' in page for name in methods)


def test_a_sharper_policy_has_less_entropy_everywhere(copies: dict[str, str], tmp_path: Path):
    asked = config(resolve_source("pocket"), copies["sharp"])
    asked = replace(asked, look=replace(LOOK, methods=("entropy",)))
    table = locate(tmp_path / "out", asked).tables["entropy"]
    base, sharp = (
        {
            str(row.labels["phase"]): row.estimate.value
            for row in table.select(policy=name, how="exact logits")
            if "phase" in row.labels
        }
        for name in ("pocket", "sharp")
    )  # fmt: skip
    assert base.keys() == sharp.keys() == {"operands", "operator", "rest"}
    assert all((sharp[phase] or 0) < (base[phase] or 0) for phase in base)


def test_other_vocabularies_are_refused_for_tokens_and_allowed_for_samples(tmp_path: Path):
    asked = config(resolve_source("pocket"), resolve_source("pocket-routes"), prompts=8)
    with pytest.raises(ConfigError, match=r"another vocabulary.*--methods entries"):
        locate(tmp_path / "out", asked)
    allowed = replace(asked, look=replace(LOOK, methods=("entries",)))
    tables = locate(tmp_path / "out", allowed).tables
    assert tables["entries"].select(metric="change of forced execution", access="all")


def test_pieces_spell_the_text_and_encode_reads_it_back():
    engine: Any = open_engine(resolve_source("pocket"), EngineOptions(device="cpu"))
    from rewardable.tasks import load_task

    prompt = load_task(TASK).prompts(1, 0)[0]
    ids = engine.encode(prompt, "4*7=28")
    assert ids[-1] == engine.loaded.tokenizer.eos_token_id
    assert engine.pieces(ids) == ("4", "*", "7", "=", "2", "8", "")
