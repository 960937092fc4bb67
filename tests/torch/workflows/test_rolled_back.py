"""A run that its guard takes back: the checkpoints behind go aside, the rate is lower for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardable.guard import Decision, Guard, GuardConfig, Observation
from rewardable.train.guarding import setup
from rewardable.workflows.training import guard_said, train, train_plan

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4,split="
FILE: dict[str, Any] = {
    "policy": "pocket",
    "task": f"{TASK}train",
    "recipe": {
        "steps": 6, "prompts_per_step": 2, "group_size": 4, "train_prompts": 16,
        "max_new_tokens": 24, "save_every": 2, "learning_rate": 1e-4,
    },
    "guard": {
        "future_tasks": [f"{TASK}test"], "every": 2, "prompts": 2, "n": 8, "replicates": 1,
        "max_new_tokens": 24, "budget": 100.0, "rule": {"allowed": ["roll_back"]},
    },
}  # fmt: skip


class Back(Guard):
    """A guard that goes back to step 2 when it first sees step 4."""

    def __init__(self) -> None:
        super().__init__(GuardConfig(allowed=("roll_back",)))
        self.told = False

    def observe(self, seen: Observation) -> Decision:
        if seen.step != 4 or self.told:
            return Decision(step=seen.step, state="ok", speaks=False)
        self.told = True
        return Decision(
            step=4, state="roll_back", speaks=True, actions=("roll_back",), last_good=2,
            remedy="go back",
        )  # fmt: skip

    def rolled_back(self, step: int) -> None:
        assert step == 2


def test_the_rate_behind_a_roll_back_is_the_lower_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = setup.build_guard

    def with_ours(*args: Any, guard: Any = None, **more: Any) -> Any:
        return plain(*args, guard=guard or Back(), **more)

    monkeypatch.setattr(setup, "build_guard", with_ours)
    result = train(tmp_path, train_plan(FILE))
    assert [path.name for path in result.checkpoints] == [f"checkpoint-{n}" for n in (2, 4, 6)]
    assert json.loads((tmp_path / "rollbacks.json").read_text())[0]["to"] == 2
    rates = {}
    for path in result.checkpoints:
        log = json.loads((path / "trainer_state.json").read_text())["log_history"]
        rates |= {row["step"]: row["learning_rate"] for row in log if "learning_rate" in row}
    # one line lags behind: transformers logs the rate of the schedule's last step
    assert [rates[step] for step in (1, 2, 3)] == pytest.approx([1e-4] * 3)
    assert [rates[step] for step in (4, 5, 6)] == pytest.approx([5e-5] * 3)
    rows = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [row["step"] for row in map(json.loads, rows) if row["kind"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]
    said = guard_said(tmp_path)
    assert said[0] == "guard at step 4: taken back to step 2. go back"
    assert "of the time" in said[-1]
