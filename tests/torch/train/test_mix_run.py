"""GRPO with everything mixed in, as a run: logged, saved, resumed, on one process and on two."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from transformers import AutoModelForCausalLM

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "tests" / "support" / "train_mixed.py"


def numbers_of(out: Path) -> list[dict[str, Any]]:
    with (out / "numbers-0.jsonl").open() as file:
        return [json.loads(line) for line in file]


def run(out: Path, steps: int) -> list[dict[str, Any]]:
    out.mkdir(exist_ok=True)
    spec = importlib.util.spec_from_file_location("train_mixed", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.train(out, steps)
    return numbers_of(out)


def run_on_two(out: Path, steps: int) -> list[dict[str, Any]]:
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    told = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*launch, str(SCRIPT), str(out), str(steps)],
        env={**os.environ, **told},
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return numbers_of(out)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("mix") / "whole"
    return out, run(out, 4)


def state(out: Path, step: int, process: int = 0) -> dict[str, Any]:
    return json.loads((out / f"checkpoint-{step}" / f"mix-{process}.json").read_text())


def test_every_source_is_logged_and_replay_begins_with_the_second_pass(whole: Any) -> None:
    _, numbers = whole
    assert [row["step"] for row in numbers] == [1, 2, 3, 4]
    for row in numbers:
        assert row["loss/supervised"] > 0
        assert row["loss/distill"] >= 0
        assert row["mix/supervised_tokens"] == pytest.approx(0.25, abs=0.12)
    assert numbers[-1]["loss/replay"] > 0
    assert numbers[-1]["mix/replay_tokens"] > 0


def test_a_resumed_run_is_the_uninterrupted_one(whole: Any) -> None:
    out, numbers = whole
    cut = out.parent / "cut"
    run(cut, 2)
    again = run(cut, 4)
    assert state(cut, 2) == state(out, 2)
    assert state(cut, 4) == state(out, 4)
    for ours, theirs in zip(again, numbers, strict=True):
        for name in ("reward", "loss", "loss/supervised", "loss/replay", "loss/distill"):
            assert ours[name] == pytest.approx(theirs[name], abs=1e-6), (ours["step"], name)
    one, other = (
        AutoModelForCausalLM.from_pretrained(path / "checkpoint-4") for path in (cut, out)
    )
    for (name, ours), theirs in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def test_two_processes_draw_apart_and_save_each_their_own(tmp_path: Path) -> None:
    numbers = run_on_two(tmp_path, 2)
    assert [row["step"] for row in numbers] == [1, 2]
    one, other = (state(tmp_path, 2, process) for process in (0, 1))
    assert one["supervised"]["place"] > 0
    assert one["distill"]["rows"] != other["distill"]["rows"]
    kept = [
        {tuple(row["token_ids"]) for row in s["replay"]["buffer"]["rows"]} for s in (one, other)
    ]
    assert kept[0] != kept[1]
