"""A run under guard: trained in parts, each taken back to the last good checkpoint when told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train import METHODS, StepReport, load
from rewardable.train.guarding import WatchConfig
from rewardable.train.series import checkpoints, step_of
from rewardable.workflows.events import Event, OnEvent
from rewardable.workflows.training.added import extras_of, settled
from rewardable.workflows.training.plan import TrainPlan

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
        said = Said(on_event, f"{plan.method} on {plan.task}")
        guard = load("rewardable.train.guarding.setup:build_guard")(
            _allowed(plan.guard, len(kept)), path, on_decision=said.decided, guard=before
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


class Said:
    """Passes steps on as events, with what the guard said last."""

    def __init__(self, on_event: OnEvent, stage: str) -> None:
        self._on_event, self._stage, self._guard = on_event, stage, ""

    def __call__(self, report: StepReport) -> None:
        """Pass a step on."""
        reward = "" if report.reward is None else f"mean reward {report.reward:.2f}"
        self._on_event(
            Event(
                stage=self._stage,
                done=report.step,
                total=report.total,
                detail="; ".join(part for part in (reward, self._guard) if part),
                numbers=report.numbers,
            )
        )

    def decided(self, decision: Any, done: Sequence[str]) -> None:
        """Keep a decision for the next steps' detail."""
        what = f" ({'; '.join(done)})" if done else ""
        told = " ".join(str(notice.text) for notice in decision.notices)
        if decision.speaks:
            told = f"{decision.state}: {decision.remedy}{what} {told}"
        self._guard = f"guard at step {decision.step}: {told}".strip()


def teller(on_event: OnEvent, stage: str) -> Said:
    """Return a listener that passes each step on as an event."""
    return Said(on_event, stage)
