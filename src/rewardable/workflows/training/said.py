"""Steps of a training run as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardable.train import StepReport
from rewardable.workflows.events import Event, OnEvent
from rewardable.workflows.training.plan import TrainPlan


def stage_of(plan: TrainPlan) -> str:
    """Return what the run is called while it trains."""
    return f"{plan.method} on {plan.task}"


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
