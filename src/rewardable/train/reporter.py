"""Passes a trainer's log on, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from rewardable.train.recipe import StepReport

OnStep = Callable[[StepReport], None]


class Reporter(TrainerCallback):
    """Passes what TRL logged of a step on; ``reward`` is the raw one where it was logged."""

    def __init__(self, on_step: OnStep) -> None:
        self._on_step = on_step
        self._start = time.perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Report a step that logged a loss or a reward."""
        numbers = {name: float(v) for name, v in (logs or {}).items() if isinstance(v, int | float)}
        if "train_runtime" in numbers or not state.is_world_process_zero:
            return
        self._on_step(
            StepReport(
                step=state.global_step,
                total=state.max_steps,
                reward=numbers.get("reward/raw", numbers.get("reward")),
                seconds=time.perf_counter() - self._start,
                numbers=numbers,
            )
        )
