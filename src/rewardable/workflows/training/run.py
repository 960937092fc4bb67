"""Run one training recipe: checkpoints, logs and rollouts in one folder, then its audit."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from rewardable.errors import DataError, ResumeError
from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.store.files import write_text
from rewardable.store.toml import to_toml
from rewardable.tasks import load_task
from rewardable.train import METHODS, load
from rewardable.train.series import checkpoints, step_of
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training.added import Booked, extras_of, log_taps, settled
from rewardable.workflows.training.drawn import filtered, learned_rows
from rewardable.workflows.training.guarded import run_guarded
from rewardable.workflows.training.plan import TrainPlan, check_names
from rewardable.workflows.training.said import Said, stage_of

RECIPE, FINISHED = "recipe.toml", "finished.json"
"""What a run is, and that its training has ended, also where it ended early."""
MERGED = "merged-base"
"""Weights of a LoRA folder that a run begins from."""
BEGUN = ("metrics.jsonl", "guard.jsonl", FINISHED)
"""Files of which a run that has begun has one."""


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
    check_names(plan)
    base = resolve_source(plan.policy)
    path.mkdir(parents=True, exist_ok=True)
    _same_recipe(path, plan)
    found = checkpoints(path)
    if not (path / FINISHED).is_file():
        start = load("rewardable.train.models:whole")(base, path / MERGED)
        found = _started(path, plan, start, on_event)
        if not found:
            raise DataError(f"{path}: the training left no checkpoint; nothing was learned.")
        (path / FINISHED).write_text(json.dumps([one.name for one in found]), encoding="utf-8")
    audited = None
    if plan.audit is not None:
        policies = (base, *map(str, found))
        audited = audit(path / "audit", plan.audit.run_config(policies, plan.task), on_event)
    return TrainResult(path=path, checkpoints=tuple(found), audit=audited)


def _started(path: Path, plan: TrainPlan, base: str, on_event: OnEvent) -> list[Path]:
    method = METHODS[plan.method]
    task = load_task(plan.task)
    if "preserve" not in method.takes:
        return _beside_grpo(path, plan, base, task, on_event)
    prompts = _prompts(path, plan, base, task, on_event)
    if plan.guard is not None:
        return run_guarded(path, plan, base, task, prompts, on_event)
    on_step = Said(on_event, stage_of(plan))
    extras = extras_of(path, plan, base, task, prompts)
    return load(method.run)(base, task, settled(plan), path, on_step, extras, prompts)


def _beside_grpo(
    path: Path, plan: TrainPlan, base: str, task: Task, on_event: OnEvent
) -> list[Path]:
    """Run PPO, SFT, DPO or distillation, each step written into the run's log."""
    method, run = METHODS[plan.method], load(METHODS[plan.method].run)
    on_step = Said(on_event, stage_of(plan))
    done = max((step_of(found) for found in checkpoints(path)), default=0)
    taps: list[Any] = []
    if "reward" in method.takes:
        tokenizer = load("rewardable.train.models:open_tokenizer")(base)
        prompts = task.prompts(plan.recipe.train_prompts, plan.seed)
        taps = log_taps(path, plan, base, prompts, tokenizer)
    booked = Booked(path, taps, on_step, done)
    if "reward" in method.takes:
        together = load("rewardable.train.logs.together:Together")(taps)
        found = run(base, task, plan.recipe, path, booked, (together,))
    elif "teacher" in method.takes:
        found = run(base, resolve_source(plan.teacher), task, plan.recipe, path, booked)
    else:
        rows = learned_rows(path, plan, base, task, on_event)
        found = run(base, rows, plan.recipe, path, booked)
    booked.close()
    return found


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
    if file.is_file() and _begun(path):
        kept = tomllib.loads(file.read_text(encoding="utf-8"))
        differing = sorted(_differences(kept, tomllib.loads(text)))
        if differing:
            raise ResumeError(
                f"{path} holds a run of another recipe; they differ in {', '.join(differing)}. "
                "Give another --out, or the recipe that it was begun with."
            )
        return
    write_text(file, text)


def _begun(path: Path) -> bool:
    """Tell whether anything was learned yet; a recipe that failed before may be mended."""
    return any((path / name).is_file() for name in BEGUN) or bool(checkpoints(path))


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
