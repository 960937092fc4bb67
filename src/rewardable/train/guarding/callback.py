"""The guard as a callback: looks, logs, decisions, actions. It never throws into the trainer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from transformers import TrainerCallback
from transformers.trainer_callback import ExportableState

from rewardable.guard import Audit, Decision, Guard, Observation
from rewardable.train.guarding.actions import APPLY, set_rate
from rewardable.train.guarding.config import WatchConfig
from rewardable.train.guarding.diary import Diary
from rewardable.train.guarding.looks import FutureTask, Looker
from rewardable.train.guarding.reward import Watched

OnDecision = Callable[[Decision, tuple[str, ...]], None]
"""Is told a decision that speaks, and what was done."""

LOG = logging.getLogger(__name__)
STATES = ("ok", "warn", "act", "stop", "roll_back")


def never_throws(method: Callable[..., None]) -> Callable[..., None]:
    """Make a callback's method end the guard, not the run, when it fails."""

    @wraps(method)
    def called(self: GuardCallback, *args: Any, **given: Any) -> None:
        if self.failed:
            return
        try:
            method(self, *args, **given)
        except Exception as error:
            self.failed = f"{type(error).__name__}: {error}"
            LOG.exception("the guard failed and watches no more")

    return called


@dataclass
class Cost:
    """Seconds of the guard's own work and of its looks, since this start; tokens in all."""

    started: float = field(default_factory=time.perf_counter)
    thinking: float = 0.0
    looking: float = 0.0
    looked_tokens: int = 0
    start_tokens: int = 0
    trained_tokens: int = 0

    def shares(self) -> dict[str, float]:
        """Return both as shares of the time since the start."""
        whole = max(time.perf_counter() - self.started, 1e-9)
        return {
            "guard/share_thinking": self.thinking / whole,
            "guard/share_looking": self.looking / whole,
            "guard/tokens": float(self.looked_tokens),
        }


class GuardCallback(TrainerCallback, ExportableState):
    """See the package. ``wanted_rollback``: the step that the run should go back to, if any.

    rate: learning rate to begin with, whatever a checkpoint's schedule says: behind a roll back.
    """

    def __init__(
        self,
        config: WatchConfig,
        tasks: tuple[FutureTask, ...],
        *,
        out: Path | None = None,
        on_decision: OnDecision | None = None,
        guard: Guard | None = None,
        rate: float | None = None,
    ) -> None:
        self.config, self.cost = config, Cost()
        self.guard = guard or Guard(config.rule)
        self.failed = ""
        self.wanted_rollback: int | None = None
        self.last: Decision | None = None
        self.postponed = 0
        self._given_guard, self._rate = guard is not None, rate
        self._looker, self._looks = Looker(tasks, config), 0
        self._out, self._on_decision = out, on_decision
        self._diary: Diary | None = None
        self._trainer: Any = None
        self._watched: list[Watched] = []
        self._waiting: tuple[Audit, ...] = ()
        self._wanted = False

    def bind(self, trainer: Any) -> None:
        """Take the trainer, so that its KL coefficient and replay can be changed."""
        self._trainer = trainer

    def reward(self, function: Any, success_at: float = 1.0) -> Watched:
        """Wrap a reward function: every rollout and its reward is seen, nothing is changed."""
        watched = Watched(function, success_at)
        self._watched.append(watched)
        return watched

    @never_throws
    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Take the checkpoint's state up, or look at the start."""
        if self._rate is not None:
            set_rate(given, self._rate)
        stored = _stored(self, state)
        if stored is not None and not self._given_guard:
            self.guard = Guard.from_state(stored["guard"])
        if stored is not None:
            self._looks = int(stored["looks"])
        if self.config.record and state.is_world_process_zero:
            self._diary = Diary(self._out or Path(args.output_dir))
            self._diary.begin(state.global_step)
        if not self._looks:
            self._look(given, replicates=self.config.replicates)
            self.cost.start_tokens = self.cost.looked_tokens
            self._observe(Observation(step=state.global_step, audits=self._taken()), given)

    @never_throws
    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Look when it is time, or when the guard asked."""
        due = state.global_step % self.config.every == 0
        if (due or self._wanted) and self._affordable(state):
            self._look(given)
        if due:
            self._note_numbers()

    @never_throws
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
        """Show the guard a training step's numbers, with the look taken behind it."""
        if not logs or "loss" not in logs:
            return
        numbers = {k: float(v) for k, v in logs.items() if isinstance(v, int | float)}
        self.cost.trained_tokens = _tokens(state, numbers)
        for watched in self._watched:
            numbers |= watched.numbers()
        seen = Observation(step=state.global_step, metrics=numbers, audits=self._taken())
        self._observe(seen, {**given, "control": control})

    @never_throws
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Say what the guard cost."""
        if self._diary is not None:
            self._diary.close(self.cost.shares(), self.postponed, self.failed)

    def state(self) -> dict[str, Any]:
        """Return what the checkpoint keeps."""
        kept = {"guard": self.guard.state(), "looks": self._looks}
        return {"args": {}, "attributes": {"kept": kept}}

    def _affordable(self, state: Any) -> bool:
        allowed = self.config.budget * max(self.cost.trained_tokens, 1)
        spent = self.cost.looked_tokens - self.cost.start_tokens
        if spent <= allowed:
            return True
        self.postponed += 1
        return False

    def _look(self, given: Mapping[str, Any], replicates: int = 1) -> None:
        began = time.perf_counter()
        model, tokenizer = given["model"], given["processing_class"]
        accelerator = self._accelerator()
        training = model.training
        model.eval()
        try:
            for _ in range(replicates):
                self._looks += 1
                self._waiting += self._looker.look(model, tokenizer, accelerator, self._looks)
        finally:
            model.train(training)
        self._wanted = False
        self.cost.looked_tokens += sum(audit.tokens or 0 for audit in self._waiting)
        self.cost.looking += time.perf_counter() - began

    def _accelerator(self) -> Any:
        if self._trainer is not None:
            return self._trainer.accelerator
        from accelerate import Accelerator

        return Accelerator()

    def _taken(self) -> tuple[Audit, ...]:
        taken, self._waiting = self._waiting, ()
        return taken

    def _observe(self, seen: Observation, given: Mapping[str, Any]) -> None:
        began = time.perf_counter()
        accelerator = self._accelerator()
        decided: list[Any] = [None]
        if accelerator.is_main_process:
            decided[0] = self.guard.observe(seen)
        if accelerator.num_processes > 1:
            broadcast_object_list(decided)
        decision: Decision = decided[0]
        self.last, self._wanted = decision, self._wanted or decision.audit_wanted
        done = tuple(self._do(decision, given))
        if self._diary is not None:
            self._diary.note(seen, decision, done)
        if (decision.speaks or decision.notices) and accelerator.is_main_process:
            self._say(decision, done)
        self.cost.thinking += time.perf_counter() - began

    def _do(self, decision: Decision, given: Mapping[str, Any]) -> list[str]:
        done: list[str] = []
        for action in decision.actions:
            if action == "roll_back":
                self.wanted_rollback = decision.last_good or 0
            done.append(APPLY[action](self._trainer, self.config, given))
        return done

    def _say(self, decision: Decision, done: tuple[str, ...]) -> None:
        if self._on_decision is not None:
            self._on_decision(decision, done)
            return
        for notice in decision.notices:
            LOG.warning("guard: %s", notice.text)
        if decision.speaks:
            what = "; ".join(done) or "nothing was done"
            text = "guard at step %d: %s. %s (%s)"
            LOG.warning(text, decision.step, decision.state, decision.remedy, what)

    def _note_numbers(self) -> None:
        seen = getattr(self._trainer, "seen_numbers", None)
        if seen is None or self.last is None:
            return
        for name, value in {**self.cost.shares(), "guard/state": self._level()}.items():
            seen.setdefault(name, []).append(float(value))

    def _level(self) -> int:
        return STATES.index(self.last.state) if self.last is not None else 0


def _stored(callback: GuardCallback, state: Any) -> Mapping[str, Any] | None:
    """Return the guard's state in the checkpoint that a run continues from."""
    if state.global_step == 0:
        return None
    found = state.stateful_callbacks.setdefault(type(callback).__name__, callback.state())
    return found["attributes"]["kept"]


def _tokens(state: Any, numbers: Mapping[str, float]) -> int:
    return int(numbers.get("num_tokens", state.num_input_tokens_seen or 0))
