"""What a guard may do to a trainer, through its public attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rewardable.guard import Action
from rewardable.train.guarding.config import WatchConfig

Apply = Callable[[Any, WatchConfig, Mapping[str, Any]], str]
"""Takes the trainer (or None), the options and the callback's arguments; says what it did."""


def raise_kl(trainer: Any, config: WatchConfig, _: Mapping[str, Any]) -> str:
    """Multiply the reference KL's coefficient, up to its bound."""
    beta = float(getattr(trainer, "beta", 0.0) or 0.0)
    if beta == 0.0:
        return (
            "could not raise the KL: the run has no reference model (beta 0), or the guard was not "
            "bound to the trainer"
        )
    trainer.beta = min(beta * config.raise_kl_by, max(config.kl_most, beta))
    return f"raised the KL coefficient from {beta:g} to {trainer.beta:g}"


def lower_learning_rate(_: Any, config: WatchConfig, given: Mapping[str, Any]) -> str:
    """Multiply the learning rate, also the one that the schedule starts from."""
    if given.get("optimizer") is None:
        return "could not lower the learning rate: the trainer passed no optimizer"
    scale_rate(given, config.lower_lr_by)
    return f"multiplied the learning rate by {config.lower_lr_by:g}"


def set_rate(given: Mapping[str, Any], rate: float) -> None:
    """Make ``rate`` the one that the schedule starts from; it stays where it is on its way.

    A checkpoint brings its schedule along: another rate in the configuration changes nothing.
    """
    scale_rate(given, rate / _schedule(given).base_lrs[0])


def scale_rate(given: Mapping[str, Any], factor: float) -> None:
    """Multiply the rates of the optimizer and of its schedule."""
    for group in given["optimizer"].param_groups:
        for name in ("lr", "initial_lr"):
            if name in group:
                group[name] = group[name] * factor
    if given.get("lr_scheduler") is not None:
        schedule = _schedule(given)
        schedule.base_lrs = [rate * factor for rate in schedule.base_lrs]


def _schedule(given: Mapping[str, Any]) -> Any:
    wrapped = given["lr_scheduler"]  # accelerate wraps it
    return getattr(wrapped, "scheduler", wrapped)


def add_replay(trainer: Any, _: WatchConfig, __: Mapping[str, Any]) -> str:
    """Double the share of replayed successes, where the run has some."""
    for term in getattr(trainer, "terms", ()):
        if hasattr(term, "scale_ratio"):
            return f"replay: ratio now {term.scale_ratio(2.0):g}"
    return "could not add replay: the run mixes none in"


def stop(_: Any, __: WatchConfig, given: Mapping[str, Any]) -> str:
    """End the run behind this step; its checkpoint is written."""
    given["control"].should_training_stop = True
    given["control"].should_save = True
    return "stopped the run"


def roll_back(_: Any, __: WatchConfig, given: Mapping[str, Any]) -> str:
    """End this part of the run; whoever started it goes on from the last good checkpoint."""
    given["control"].should_training_stop = True
    return "ended this part of the run to go back to the last good checkpoint"


APPLY: dict[Action, Apply] = {
    "raise_kl": raise_kl,
    "lower_learning_rate": lower_learning_rate,
    "add_replay": add_replay,
    "stop": stop,
    "roll_back": roll_back,
}
