"""Every method by a recipe file, on the embedded policy: checkpoints, logs, resumption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardable.errors import ResumeError
from rewardable.store import Run
from rewardable.workflows.training import train, train_plan

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
    "distill": {"recipe": {**STAGE, "train_prompts": 4, "max_new_tokens": 24}},
}


def numbers(path: Path) -> list[dict[str, Any]]:
    lines = (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "train"]


@pytest.mark.parametrize("name", FILES)
def test_a_method_trains_logs_and_goes_on(tmp_path: Path, name: str) -> None:
    file = {
        "method": name.split()[0], "policy": "pocket",
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
