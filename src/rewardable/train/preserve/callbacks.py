"""The pure rules as callbacks of a trainer; each leaves its state in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers.trainer_callback import ExportableState, TrainerCallback

from rewardable.errors import ConfigError
from rewardable.train.preserve.kl import AdaptiveKLConfig, KLState, advance, start
from rewardable.train.preserve.staged import EarlyStopConfig, StopState, watch_entropy
from rewardable.train.preserve.taps import KL_WEIGHT, REWARD, SUPPORT
from rewardable.train.taps import RolloutBatch


class AdaptiveKL(TrainerCallback, ExportableState):
    """Sets the trainer's ``beta`` after every log line.

    The numbers are those of the log, which are the same in every process. ``tap`` logs the
    coefficient in force as ``preserve/kl_weight``.
    """

    def __init__(self, config: AdaptiveKLConfig) -> None:
        self._config = config
        self._trainer: Any = None
        self.now = start(config)

    def bind(self, trainer: Any) -> None:
        """Take the trainer whose coefficient is moved."""
        if trainer.beta == 0.0:
            raise ConfigError(
                "the adaptive KL needs a reference model, which the trainer builds only for a "
                f"coefficient above 0: start it at {self._config.start}."
            )
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Go on from the checkpoint's state, if there is one."""
        if self._trainer is None:
            raise ConfigError("the adaptive KL was given no trainer: call bind(trainer) first.")
        stored = _stored(self, state)
        if stored is not None:
            self.now = KLState.from_dict(stored)
        self._trainer.beta = self.now.beta

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Move by one more line of a training step."""
        if not logs or "entropy" not in logs:
            return
        self.now = advance(
            self._config,
            self.now,
            entropy=logs["entropy"],
            support=logs.get(SUPPORT),
            reward=logs.get(REWARD),
        )
        self._trainer.beta = self.now.beta

    def tap(self, _: RolloutBatch) -> dict[str, float]:
        """Return the coefficient under which a batch is learned of."""
        return {KL_WEIGHT: self.now.beta}

    def state(self) -> dict[str, Any]:
        """Return what the checkpoint keeps."""
        return {"args": {}, "attributes": {"now": self.now.to_dict()}}


class EarlyStop(TrainerCallback, ExportableState):
    """Ends the run when entropy has fallen too far.

    The trainer takes a step before it looks; ``staged.stopped_early`` tells beforehand.
    """

    def __init__(self, config: EarlyStopConfig) -> None:
        self._config = config
        self.now = StopState()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Go on from the checkpoint's state, if there is one."""
        stored = _stored(self, state)
        if stored is not None:
            self.now = StopState.from_dict(stored)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Look at one more line; the checkpoint of a step that stops is written."""
        if not logs or "entropy" not in logs:
            return
        self.now = watch_entropy(self._config, self.now, logs["entropy"])
        if self.now.stop:
            control.should_training_stop = True
            control.should_save = True

    def state(self) -> dict[str, Any]:
        """Return what the checkpoint keeps."""
        return {"args": {}, "attributes": {"now": self.now.to_dict()}}


def _stored(callback: ExportableState, state: Any) -> Mapping[str, Any] | None:
    """Return the callback's state in a checkpoint that a run continues from.

    A run that goes on from a checkpoint without it begins anew, and has its place to save to.
    """
    name = type(callback).__name__
    if state.global_step == 0:
        return None
    found = state.stateful_callbacks.setdefault(name, callback.state())
    return found["attributes"]["now"]
