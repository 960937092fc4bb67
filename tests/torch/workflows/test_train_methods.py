"""Every method by a recipe file, on the embedded policy: checkpoints, logs, resumption."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from rewardable.errors import ConfigError, DataError, ResumeError
from rewardable.store import Run
from rewardable.store.toml import to_toml
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training import train, train_plan

ROOT = Path(__file__).resolve().parents[3]
OPTIONS = "numbers=4,values=1-10,targets=10-50,min_solutions=4"
RL: dict[str, Any] = {
    "steps": 2, "prompts_per_step": 2, "group_size": 4, "train_prompts": 8,
    "max_new_tokens": 30, "save_every": 1,
}  # fmt: skip
STAGE: dict[str, Any] = {"steps": 2, "batch": 4, "save_every": 1}
DRAW: dict[str, Any] = {"n": 12, "prompts": 6, "max_new_tokens": 30}
FILES: dict[str, dict[str, Any]] = {
    "grpo": {"recipe": RL},
    "rloo": {"recipe": RL},
    "ppo": {"recipe": RL},
    "sft": {"recipe": {**STAGE, "train_prompts": 4}},
    "sft from rollouts": {"recipe": STAGE, "rollouts": DRAW},
    "dpo": {"recipe": STAGE, "rollouts": DRAW},
    "distill": {"teacher": "pocket", "recipe": {**STAGE, "train_prompts": 4, "max_new_tokens": 24}},
}


def numbers(path: Path) -> list[dict[str, Any]]:
    lines = (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "train"]


@pytest.mark.parametrize("name", FILES)
def test_a_method_trains_logs_and_goes_on(tmp_path: Path, name: str) -> None:
    file = {
        "method": name.split(maxsplit=1)[0], "policy": "pocket",
        "task": f"countdown-steps:{OPTIONS},split=train", **FILES[name],
    }  # fmt: skip
    result = train(tmp_path, train_plan(file))
    assert [path.name for path in result.checkpoints] == ["checkpoint-1", "checkpoint-2"]
    rows = numbers(tmp_path)
    assert [row["step"] for row in rows] == [1, 2]
    assert (tmp_path / "metrics.parquet").is_file()
    if "group_size" in file["recipe"]:
        assert all(0.0 <= row["reward/raw"] <= 1.0 for row in rows)
        assert all(row["entropy/first_token"] > 0 for row in rows)
        run = Run.open(tmp_path / "rollouts")
        assert sum(group.n_rollouts for group in run.groups()) == 16
    again = train(tmp_path, train_plan(file))
    assert again.checkpoints == result.checkpoints
    assert numbers(tmp_path) == rows
    with pytest.raises(ResumeError, match="seed"):
        train(tmp_path, train_plan(file, seed=5))


def recipe(**change: Any) -> dict[str, Any]:
    one = {"policy": "pocket", "task": f"countdown-steps:{OPTIONS},split=train"}
    return {**one, **change, "recipe": {**RL, "steps": 1, **change.get("recipe", {})}}


def test_a_run_that_never_began_may_be_mended(tmp_path: Path) -> None:
    """Too few prompts, and settings that TRL refuses, leave no run that the mended file is not."""
    with pytest.raises(DataError, match="1 prompts to train on are fewer than a step takes"):
        train(tmp_path, train_plan(recipe(recipe={"train_prompts": 1})))
    with pytest.raises(ConfigError, match="TRL refuses"):
        train(tmp_path, train_plan(recipe(recipe={"trl": {"report_to": ["none such"]}})))
    assert train(tmp_path, train_plan(recipe())).checkpoints


def test_a_policy_that_does_not_open_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"cannot open the policy .*empty"):
        train(tmp_path / "run", train_plan(recipe(policy=str(tmp_path / "empty"))))


def test_the_teacher_of_a_mix_may_be_an_embedded_policy(tmp_path: Path) -> None:
    mix = {
        "rlvr": 1.0, "supervised": 0.0, "replay": 0.0,
        "distill": {"teacher": "pocket", "rows": 2, "max_new_tokens": 8},
    }  # fmt: skip
    train(tmp_path, train_plan(recipe(mix=mix)))
    (row,) = numbers(tmp_path)
    assert row["loss/distill"] == pytest.approx(0.0, abs=1e-4)


def test_a_label_that_no_success_has_is_refused(tmp_path: Path) -> None:
    file = recipe(
        preserve={"balanced": {"label": "solutoin"}},
        recipe={"prompts_per_step": 4, "group_size": 8},
    )
    with pytest.raises(ConfigError, match="Did you mean 'solution'"):
        train(tmp_path, train_plan(file))


def test_a_run_begins_from_an_adapter_as_it_answers(tmp_path: Path) -> None:
    """The weights are the merged ones: at the first step a reference KL to them is nothing."""
    lora = {"recipe": {"learning_rate": 1e-2, "lora": {"rank": 4}}}
    (adapter,) = train(tmp_path / "lora", train_plan(recipe(**lora))).checkpoints
    held = recipe(policy=str(adapter), recipe={"kl_coefficient": 0.1})
    (made,) = train(tmp_path / "on", train_plan(held)).checkpoints
    assert numbers(tmp_path / "on")[0]["kl"] == pytest.approx(0.0, abs=1e-5)
    before = load_file(tmp_path / "on" / "merged-base" / "model.safetensors")
    after = load_file(made / "model.safetensors")
    base = load_file(Path(resolve_source("pocket")) / "model.safetensors")
    moved = [float((before[name] - base[name].float()).abs().max()) for name in before]
    assert max(moved) > 1e-3
    assert any(bool((before[name] != after[name]).any()) for name in before)


def test_two_processes_of_the_command_share_a_step(tmp_path: Path) -> None:
    """On processors accelerate takes each process for the only one unless it is told."""
    file = tmp_path / "two.toml"
    file.write_text(to_toml(recipe()), encoding="utf-8")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    told = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*launch, "-m", "rewardable", "train", str(file), "--out", str(tmp_path / "run")],
        env={**os.environ, **told}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    (group,) = Run.open(tmp_path / "run" / "rollouts").groups()
    assert group.n_rollouts == RL["prompts_per_step"] * RL["group_size"]
