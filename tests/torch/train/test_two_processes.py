"""GRPO on two processes: whole groups on each, one set of files, figures of all rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl")

from rewardable.store import Run
from rewardable.train.logs.rows import MetricsFile

ROOT = Path(__file__).resolve().parents[3]
STEPS = 2


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    script = [str(ROOT / "tests" / "support" / "train_logged.py"), str(path), str(STEPS)]
    told = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*launch, *script],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return path


def seen(out: Path, process: int) -> list[dict[str, list[str]]]:
    return [json.loads(line) for line in (out / f"seen-{process}.jsonl").open()]


def test_each_process_holds_whole_groups(out: Path) -> None:
    for process in (0, 1):
        batches = seen(out, process)
        assert len(batches) == STEPS
        for batch in batches:
            keys = batch["keys"]
            assert len(keys) == 8
            assert all(len(set(keys[start : start + 4])) == 1 for start in (0, 4))
    assert seen(out, 0) != seen(out, 1)


def test_one_file_with_the_figures_of_all_rows(out: Path) -> None:
    assert len(list(out.rglob("metrics.jsonl"))) == 1
    rows = [row for row in MetricsFile(out / "metrics.jsonl").rows() if row["kind"] == "train"]
    assert [row["step"] for row in rows] == [1, 2]
    for row in rows:
        assert row["own_rank"] == 0.5
        assert row["reward/raw"] == pytest.approx(row["reward"], abs=1e-6)
        assert row["reward/raw"] == pytest.approx(row["own_share"], abs=1e-6)
        assert row["reward/raw_std"] == pytest.approx(row["reward_std"], abs=1e-5)
        assert row["length/mean"] == pytest.approx(row["completions/mean_length"], abs=1e-4)
        assert row["length/max"] == row["completions/max_length"]
        assert row["entropy/mean"] == pytest.approx(row["entropy"], rel=0.2)


def test_rollouts_of_both_processes_are_kept_once(out: Path) -> None:
    run = Run.open(out / "rollouts")
    names = {policy.name: policy.key for policy in run.policies()}
    (spec,) = run.specs()
    for step in range(STEPS):
        ids = run.rollout_ids(names[f"training step {step}"], spec.key)
        drawn = seen(out, 0)[step]["keys"] + seen(out, 1)[step]["keys"]
        assert sorted(one.prompt_key for one in ids) == sorted(drawn)
    assert run.n_pending("countdown:steps", "1", []) == 0
