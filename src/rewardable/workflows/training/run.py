"""Run one training recipe: checkpoints, logs and rollouts in one folder, then its audit."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from rewardable.errors import ResumeError
from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.store.toml import to_toml
from rewardable.tasks import load_task
from rewardable.train import METHODS, load
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training.added import extras_of, settled
from rewardable.workflows.training.drawn import filtered, learned_rows
from rewardable.workflows.training.guarded import run_guarded, teller
from rewardable.workflows.training.plan import TrainPlan

RECIPE = "recipe.toml"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainResult:
    """Where a run lies. checkpoints: folders in order of step."""

    path: Path
    checkpoints: tuple[Path, ...]
    audit: AuditResult | None = None


def train(path: Path, plan: TrainPlan, on_event: OnEvent = ignore) -> TrainResult:
    """Train as ``plan`` says in ``path``; run again it goes on from its last checkpoint.

    Raises
    ------
    ResumeError: ``path`` holds a run of another recipe.
    UserError: a policy, task or file cannot be loaded, TRL is missing.
    """
    path.mkdir(parents=True, exist_ok=True)
    _same_recipe(path, plan)
    base = resolve_source(plan.policy)
    found = _started(path, plan, base, on_event)
    audited = None
    if plan.audit is not None:
        policies = (base, *map(str, found))
        audited = audit(path / "audit", plan.audit.run_config(policies, plan.task), on_event)
    return TrainResult(path=path, checkpoints=tuple(found), audit=audited)


def _started(path: Path, plan: TrainPlan, base: str, on_event: OnEvent) -> list[Path]:
    method = METHODS[plan.method]
    run, on_step = load(method.run), teller(on_event, f"{plan.method} on {plan.task}")
    task = load_task(plan.task)
    if "teacher" in method.takes:
        teacher = resolve_source(plan.teacher or plan.policy)
        return run(base, teacher, task, plan.recipe, path, on_step)
    if "rollouts" in method.takes:
        rows = learned_rows(path, plan, base, task, on_event)
        return run(base, rows, plan.recipe, path, on_step)
    prompts = _prompts(path, plan, base, task, on_event)
    if plan.guard is not None:
        return run_guarded(path, plan, base, task, prompts, on_event)
    extras = extras_of(path, plan, base, task, prompts)
    if "preserve" in method.takes:
        return run(base, task, settled(plan), path, on_step, extras, prompts)
    return run(base, task, plan.recipe, path, on_step, extras.taps)


def _prompts(
    path: Path, plan: TrainPlan, base: str, task: Task, on_event: OnEvent
) -> Sequence[Prompt]:
    if plan.filter is not None:
        return filtered(path, plan, base, plan.filter, on_event)
    return task.prompts(plan.recipe.train_prompts, plan.seed)


def _same_recipe(path: Path, plan: TrainPlan) -> None:
    wanted = plain({k: v for k, v in asdict(plan).items() if k != "audit"})
    text = to_toml(wanted)
    file = path / RECIPE
    if file.is_file():
        kept = tomllib.loads(file.read_text(encoding="utf-8"))
        differing = sorted(_differences(kept, tomllib.loads(text)))
        if differing:
            raise ResumeError(
                f"{path} holds a run of another recipe; they differ in {', '.join(differing)}. "
                "Give another --out, or the recipe that it was begun with."
            )
        return
    file.write_text(text, encoding="utf-8")


def plain(value: Any) -> Any:
    """Return nested values as TOML knows them: tuples as lists, no None, names as text."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, default=str)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], at: str = "") -> set[str]:
    found: set[str] = set()
    for key in {*old, *new}:
        left, right = old.get(key), new.get(key)
        if isinstance(left, dict) and isinstance(right, dict):
            found |= _differences(left, right, f"{at}{key}.")
        elif left != right:
            found.add(f"{at}{key}")
    return found
