"""What a real run writes: figures, rollouts, disagreements, event files; and when it goes on."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("trl")

from transformers import TrainerCallback

from rewardable.records import TRAINING, Outcome
from rewardable.store import Run
from rewardable.train.logs.rows import MetricsFile


class Killed(Exception):
    pass


class KillInStep(TrainerCallback):
    """Dies in the middle of a step whose rows are drawn and whose checkpoint is not written."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self.step:
            raise Killed


def train_rows(out: Path) -> list[dict[str, Any]]:
    return [row for row in MetricsFile(out / "metrics.jsonl").rows() if row["kind"] == "train"]


@pytest.fixture(scope="module")
def resumed(logged: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps, killed within the third and after a torn line, then gone on with."""
    out = tmp_path_factory.mktemp("resumed")
    with pytest.raises(Killed):
        logged.train(out, 3, more=[KillInStep(2)])
    with (out / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "kind": "train", "rew')
    logged.train(out, 3)
    return out


def test_every_step_has_one_row_with_all_figures(resumed: Path) -> None:
    rows = train_rows(resumed)
    assert [row["step"] for row in rows] == [1, 2, 3]
    wanted = {
        "reward/raw", "reward/raw_std", "reward/shaped", "reward/shaped_std", "groups/constant_raw",
        "groups/constant", "length/p50", "truncated", "repetition/within_4", "repetition/across_4",
        "format", "ungraded", "distinct/outputs", "template", "strict_lenient/disagree",
        "entropy/first_token", "entropy/mean", "reward", "entropy", "loss",
    }  # fmt: skip
    for row in rows:
        assert wanted <= set(row)
        assert row["reward/raw"] == pytest.approx(row["reward"], abs=1e-6)
        assert row["length/mean"] == pytest.approx(row["completions/mean_length"], abs=1e-4)
        assert row["truncated"] == pytest.approx(row["completions/clipped_ratio"], abs=1e-6)
        assert row["groups/constant"] == pytest.approx(row["frac_reward_zero_std"], abs=1e-6)


def test_the_table_has_the_rows_of_the_lines(resumed: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(resumed / "metrics.parquet").to_pylist()
    lines = MetricsFile(resumed / "metrics.jsonl").rows()
    assert [row["step"] for row in table] == [row["step"] for row in lines]
    assert [row["reward/raw"] for row in table] == [row.get("reward/raw") for row in lines]


def test_the_store_holds_every_rollout_once(resumed: Path) -> None:
    run = Run.open(resumed / "rollouts")
    names = {policy.name: policy.key for policy in run.policies()}
    assert sorted(names) == [f"training step {step}" for step in range(3)]
    assert all(origin.startswith(TRAINING) for _, origin in run.provenances())
    (spec,) = run.specs()
    for row in train_rows(resumed):
        key = names[f"training step {row['step'] - 1}"]
        graded = list(run.rollouts(policy_key=key, spec_key=spec.key))
        assert len(graded) == 16
        right = [verdict.outcome is Outcome.CORRECT for _, verdict in graded if verdict]
        assert sum(right) / len(right) == pytest.approx(row["reward/raw"], abs=1e-6)
        assert all(rollout.completion.token_ids for rollout, _ in graded)


def test_truncated_completions_that_are_masked_are_counted(
    logged: ModuleType, tmp_path: Path
) -> None:
    """Every one is cut, so that no token is left to take an entropy of; 0 would be no entropy."""
    sizes = {**logged.SIZES, "max_new_tokens": 4, "mask_truncated": True, "kl_coefficient": 0.1}
    logged.train(tmp_path, 1, sizes=sizes)
    (row,) = train_rows(tmp_path)
    assert row["truncated"] == row["completions/clipped_ratio"] == 1.0
    assert row["length/mean"] == 4.0
    assert not {"entropy/first_token", "entropy/mean"} & set(row)
    assert row["kl"] == pytest.approx(0, abs=1e-6)


def test_micro_batches_smaller_than_a_group_leave_groups_whole(
    logged: ModuleType, tmp_path: Path
) -> None:
    logged.train(tmp_path, 1, sizes={**logged.SIZES, "micro_batch": 2})
    (batch,) = [json.loads(line) for line in (tmp_path / "seen-0.jsonl").open()]
    assert (batch["size"], len(batch["keys"])) == (4, 16)
    (row,) = train_rows(tmp_path)
    assert row["groups/constant"] == pytest.approx(row["frac_reward_zero_std"], abs=1e-6)
    assert row["entropy/mean"] > 0


@pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed"
)
def test_tensorboard_gets_our_numbers(
    logged: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    logged.train(tmp_path, 1, report_to=["tensorboard"])
    events = EventAccumulator(str(tmp_path / "board"))
    events.Reload()
    (row,) = train_rows(tmp_path)
    for name in ("reward/raw", "entropy/first_token", "groups/constant", "distinct/outputs"):
        (point,) = events.Scalars(f"train/{name}")
        assert point.value == pytest.approx(row[name], abs=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")
def test_wandb_offline_gets_our_numbers(
    logged: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_DISABLE_CODE", "true")
    logged.train(tmp_path, 1, report_to=["wandb"])
    assert wandb.run is not None
    summary = {name: wandb.run.summary.get(f"train/{name}") for name in ("reward/raw", "template")}
    wandb.finish()
    (row,) = train_rows(tmp_path)
    assert summary == pytest.approx({name: row[name] for name in summary}, abs=1e-6)
    assert list((tmp_path / "wandb").glob("offline-run-*"))
