"""Checkpoints: ordinary policy folders, with what the trainer needs to go on beside the weights."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerState

from rewardable.errors import ResumeError
from rewardable.protocols import Task
from rewardable.train.ppo.recipe import PPORecipe

STATE = "trainer_state.json"
RUN = "ppo_run.json"
REST = "ppo_state.pt"
_MAY_CHANGE = {"steps", "save_every"}

Logs = dict[str, float]


def describe(base: str, task: Task, recipe: PPORecipe) -> dict[str, Any]:
    """Return what a run is: written beside every checkpoint, and compared on resuming."""
    told = {"base": base, "task": task.name, "task_version": task.version, **asdict(recipe)}
    return json.loads(json.dumps(told))


def check_same_run(checkpoint: Path, run: Mapping[str, Any]) -> None:
    """Refuse with a ResumeError to go on with other settings, but for more or fewer steps."""
    before = json.loads((checkpoint / RUN).read_text(encoding="utf-8"))
    keys = sorted({*before, *run} - _MAY_CHANGE)
    differing = [
        f"{key} ({before.get(key)!r} then, {run.get(key)!r} now)"
        for key in keys
        if before.get(key) != run.get(key)
    ]
    if differing:
        raise ResumeError(
            f"{checkpoint.parent} holds a run with other settings: {', '.join(differing)}. "
            "Give the same settings to go on, or another folder."
        )


def save(
    out: Path,
    step: int,
    *,
    model: Any,
    tokenizer: Any,
    optimizer: Any,
    history: Sequence[Logs],
    run: Mapping[str, Any],
) -> None:
    """Write ``checkpoint-<step>``; a folder of this name is always whole.

    No generator's state is kept: all that is drawn in a step depends on the seed and the step.
    """
    part = out / f".checkpoint-{step}.part"
    if part.exists():
        shutil.rmtree(part)
    model.policy.save_pretrained(part)
    tokenizer.save_pretrained(part)
    rest = {"critic": model.critic.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(rest, part / REST)
    (part / RUN).write_text(json.dumps(run, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    state = TrainerState(
        global_step=step,
        max_steps=run["steps"],
        save_steps=run["save_every"],
        train_batch_size=run["prompts_per_step"] * run["group_size"],
        log_history=list(history),
    )
    state.save_to_json(str(part / STATE))
    os.replace(part, out / f"checkpoint-{step}")


def restore(checkpoint: Path, *, model: Any, optimizer: Any) -> list[Logs]:
    """Load critic and optimiser; return the log so far. The policy is loaded by its builder."""
    rest = torch.load(checkpoint / REST, map_location="cpu", weights_only=True)
    model.critic.load_state_dict(rest["critic"])
    optimizer.load_state_dict(rest["optimizer"])
    return list(TrainerState.load_from_json(str(checkpoint / STATE)).log_history)
