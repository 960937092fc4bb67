"""A run under guard: trained in parts, each taken back to the last good checkpoint when told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train import METHODS, load
from rewardable.train.guarding import DECISIONS, WatchConfig
from rewardable.train.series import checkpoints, step_of
from rewardable.workflows.events import OnEvent
from rewardable.workflows.training.added import extras_of, settled
from rewardable.workflows.training.plan import TrainPlan
from rewardable.workflows.training.said import Said, stage_of

ROLLBACKS, DISCARDED = "rollbacks.json", "discarded"


def run_guarded(
    path: Path, plan: TrainPlan, base: str, task: Task, prompts: Sequence[Prompt], on_event: OnEvent
) -> list[Path]:
    """Train; where the guard rolls back, go on from the last good checkpoint at a lower rate.

    Checkpoints behind it are moved to ``discarded/``; ``rollbacks.json`` says when and why.
    """
    assert plan.guard is not None
    kept = _rollbacks(path)
    before: Any = None
    while True:
        now = _gentler(plan, plan.guard, len(kept))
        said = Said(on_event, stage_of(plan))
        guard = load("rewardable.train.guarding.setup:build_guard")(
            _allowed(plan.guard, len(kept)),
            path,
            on_decision=said.decided,
            guard=before,
            rate=now.recipe.learning_rate if _just_back(path, kept) else None,
        )
        extras = extras_of(path, now, base, task, prompts, guard)
        run = load(METHODS[plan.method].run)
        found = run(base, task, settled(now), path, said, extras, prompts)
        if guard.wanted_rollback is None or len(kept) >= plan.guard.rollbacks:
            return found
        back = _taken_back(path, guard.wanted_rollback, len(kept) + 1)
        kept.append({"at": guard.last.step, "to": back, "why": guard.last.remedy})
        (path / ROLLBACKS).write_text(json.dumps(kept, indent=1), encoding="utf-8")
        before = guard.guard
        before.rolled_back(back)


def _rollbacks(path: Path) -> list[dict[str, Any]]:
    file = path / ROLLBACKS
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def _just_back(path: Path, kept: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether the run goes on from where it was taken back to, at the rate from before."""
    if not kept:
        return False
    last = max(map(step_of, checkpoints(path)), default=0)
    return last == kept[-1]["to"]


def _gentler(plan: TrainPlan, watch: WatchConfig, times: int) -> TrainPlan:
    rate = plan.recipe.learning_rate * watch.lower_lr_by**times
    return replace(plan, recipe=replace(plan.recipe, learning_rate=rate))


def _allowed(watch: WatchConfig, times: int) -> WatchConfig:
    """Return the options without the roll back that is used up."""
    if times < watch.rollbacks:
        return watch
    allowed = tuple(action for action in watch.rule.allowed if action != "roll_back")
    return replace(watch, rule=replace(watch.rule, allowed=allowed))


def _taken_back(path: Path, step: int, time: int) -> int:
    """Move the checkpoints behind ``step`` aside; return the step that the run goes on from."""
    aside = path / DISCARDED / str(time)
    last = 0
    for checkpoint in checkpoints(path):
        if step_of(checkpoint) <= step:
            last = step_of(checkpoint)
            continue
        aside.mkdir(parents=True, exist_ok=True)
        checkpoint.rename(aside / checkpoint.name)
    return last


def guard_said(path: Path) -> tuple[str, ...]:
    """Return what the guard of a run said and cost, in sentences; () for a run without one."""
    file = path / DECISIONS
    if not file.is_file():
        return ()
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()
    ]
    spoken = [
        f"guard at step {row['at']}: taken back to step {row['to']}. {row['why']}"
        for row in _rollbacks(path)
    ]
    spoken += [
        f"guard at step {row['step']}: {row['state']}. {row['remedy']} "
        f"({'; '.join(row['done']) or 'nothing was done'})"
        for row in rows
        if row.get("speaks")
    ]
    closing = next((row for row in reversed(rows) if row.get("closing")), None)
    if closing is None:
        return tuple(spoken)
    looks, own = closing["guard/share_looking"], closing["guard/share_thinking"]
    quiet = "" if spoken else "nothing to say; "
    cost = f"guard: {quiet}its looks took {looks:.0%} of the time, its own work {own:.1%}."
    failed = (f"the guard failed: {closing['failed']}",) if closing["failed"] else ()
    return (*spoken, cost, *failed)
