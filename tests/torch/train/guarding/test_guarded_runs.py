"""A guard in a real run: it changes nothing by looking, acts when told, never throws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from rewardable.guard import Decision, Guard, GuardConfig, Observation, parse_line
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe
from rewardable.train.extras import Extras
from rewardable.train.grpo import run_grpo
from rewardable.train.guarding import WatchConfig
from rewardable.train.guarding.setup import build_guard, watch
from rewardable.workflows.sources import resolve_source

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4,split=train"
FUTURE = "countdown-steps-start:numbers=4,values=1-10,targets=10-50,min_solutions=4,split=test"
CONFIG: dict[str, Any] = {
    "future_tasks": (FUTURE,), "every": 2, "prompts": 4, "n": 8, "replicates": 2,
    "max_new_tokens": 24, "budget": 100.0,
}  # fmt: skip


class Told(Guard):
    """A guard whose decision at a step is given."""

    def __init__(self, at: int, **decision: Any) -> None:
        super().__init__(GuardConfig())
        self._at, self._decision, self.steps = at, decision, list[int]()

    def observe(self, seen: Observation) -> Decision:
        self.steps.append(seen.step)
        if seen.step != self._at:
            return Decision(step=seen.step, state="ok", speaks=False)
        return Decision(step=seen.step, **{"state": "act", "speaks": True, **self._decision})


class Broken(Guard):
    """A guard that fails."""

    def observe(self, seen: Observation) -> Decision:
        raise RuntimeError("no idea")


def run(out: Path, guard: Any = None, **change: Any) -> tuple[dict[str, Any], list[Any]]:
    told: list[Any] = []
    values = {
        "steps": 4, "prompts_per_step": 2, "group_size": 4, "train_prompts": 16,
        "max_new_tokens": 24, "save_every": 2,
    }  # fmt: skip
    recipe = GRPORecipe(**{**values, **change})
    extras = Extras(callbacks=(guard,)) if guard is not None else None
    found = run_grpo(resolve_source("pocket"), load_task(TASK), recipe, out, told.append, extras)
    return load_file(found[-1] / "model.safetensors"), told


def rows(path: Path) -> list[Any]:
    return [parse_line(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_looking_changes_nothing_of_the_run(tmp_path: Path) -> None:
    plain, _ = run(tmp_path / "plain")
    guard = build_guard(WatchConfig(**CONFIG), tmp_path / "watched")
    watched, _ = run(tmp_path / "watched", guard)
    assert guard.failed == ""
    assert all(torch.equal(plain[name], watched[name]) for name in plain)
    seen = rows(tmp_path / "watched" / "guard.jsonl")
    looks = {row.step: len(row.audits) for row in seen if row.audits}
    assert looks == {0: 2, 2: 1, 4: 1}
    assert {len(audit.prompts) for row in seen for audit in row.audits} == {4}
    assert all(p.n == 8 for row in seen for a in row.audits for p in a.prompts.values())
    last = json.loads((tmp_path / "watched" / "guard-decisions.jsonl").read_text().splitlines()[-1])
    assert last["closing"]
    assert 0 < last["guard/share_looking"] < 1
    assert last["guard/tokens"] > 0


def test_a_run_that_goes_on_has_the_same_observations(tmp_path: Path) -> None:
    whole = build_guard(WatchConfig(**CONFIG), tmp_path / "whole")
    run(tmp_path / "whole", whole)
    run(tmp_path / "parts", build_guard(WatchConfig(**CONFIG), tmp_path / "parts"), steps=2)
    again = build_guard(WatchConfig(**CONFIG), tmp_path / "parts")
    run(tmp_path / "parts", again)
    audits = [
        [(row.step, row.audits) for row in rows(tmp_path / name / "guard.jsonl") if row.audits]
        for name in ("whole", "parts")
    ]
    # what a look cost is not kept in the record
    assert audits[0] == audits[1]
    assert again.guard.state() == whole.guard.state()


def test_the_learning_rate_is_lowered_for_good(tmp_path: Path) -> None:
    told = Told(2, actions=("lower_learning_rate",))
    _, steps = run(tmp_path, build_guard(WatchConfig(**CONFIG), tmp_path, guard=told))
    rates = [report.numbers["learning_rate"] for report in steps]
    # transformers logs the rate of the schedule's last step, so one line lags behind
    assert rates == pytest.approx([1e-4, 1e-4, 1e-4, 5e-5])


def test_the_kl_is_raised_where_there_is_one(tmp_path: Path) -> None:
    said: list[str] = []
    for beta, expected in ((0.05, "raised the KL coefficient from 0.05 to 0.1"), (0.0, "beta 0")):
        told = Told(2, actions=("raise_kl",))
        guard = build_guard(
            WatchConfig(**CONFIG), tmp_path / str(beta), guard=told,
            on_decision=lambda _, done: said.extend(done),
        )  # fmt: skip
        run(tmp_path / str(beta), guard, steps=2, kl_coefficient=beta)
        assert expected in said[-1]


def test_stop_ends_the_run_with_a_checkpoint(tmp_path: Path) -> None:
    told = Told(3, state="stop", actions=("stop",))
    _, steps = run(tmp_path, build_guard(WatchConfig(**CONFIG), tmp_path, guard=told), steps=6)
    assert [report.step for report in steps][-1] == 3
    assert (tmp_path / "checkpoint-3").is_dir()


def test_what_fails_ends_the_guard_and_not_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    guard = build_guard(WatchConfig(**CONFIG), tmp_path, guard=Broken(GuardConfig()))
    _, steps = run(tmp_path, guard)
    assert "watches no more" in caplog.text
    assert [report.step for report in steps][-1] == 4
    assert "no idea" in guard.failed


def test_looks_beyond_the_budget_are_put_off(tmp_path: Path) -> None:
    guard = build_guard(WatchConfig(**{**CONFIG, "budget": 1e-9}), tmp_path)
    run(tmp_path, guard, steps=6)
    assert guard.postponed == 2
    looks = [row.step for row in rows(tmp_path / "guard.jsonl") if row.audits]
    assert looks == [0, 2]


def test_three_lines_in_a_plain_trl_script(tmp_path: Path) -> None:
    from datasets import Dataset
    from transformers import AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    def paid(completions: Any, **_: Any) -> list[float]:
        return [float("=" in text) for text in completions]

    base = resolve_source("pocket")
    prompts = load_task(TASK).prompts(4, 0)
    guard = watch(**{**CONFIG, "out": tmp_path})
    trainer = GRPOTrainer(
        model=base,
        reward_funcs=[guard.reward(paid)],
        args=GRPOConfig(
            output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=8,
            num_generations=4, max_completion_length=24, use_cpu=True, report_to=[],
            logging_steps=1, bf16=False, gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list([{"prompt": p.text} for p in prompts]),
        processing_class=AutoTokenizer.from_pretrained(base),
        callbacks=[guard],
    )  # fmt: skip
    guard.bind(trainer)
    trainer.train()
    assert guard.failed == ""
    seen = rows(tmp_path / "guard.jsonl")
    assert [row.step for row in seen] == [0, 1, 2]
    assert "reward/success" in seen[1].metrics
    assert len(seen[2].audits) == 1
