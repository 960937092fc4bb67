"""Preservation methods as parts of a trainer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train.core import LossTerm
from rewardable.train.extras import Extras
from rewardable.train.preserve.advantages import advantage_rule
from rewardable.train.preserve.callbacks import AdaptiveKL, EarlyStop
from rewardable.train.preserve.config import PreserveConfig
from rewardable.train.preserve.opening_kl import OpeningKL
from rewardable.train.preserve.reference import Reference
from rewardable.train.preserve.routing import RoutingPrior
from rewardable.train.preserve.schedule import scheduled
from rewardable.train.preserve.taps import support_tap
from rewardable.train.shaping import RewardConfig
from rewardable.train.taps import AdvantageRule, Tap


def build_extras(
    config: PreserveConfig,
    base: str,
    task: Task,
    prompts: Sequence[Prompt],
    tokenizer: Any,
    seed: int,
    *,
    reward: RewardConfig | None = None,
    algorithm: str = "grpo",
) -> Extras:
    """Return the parts that the methods of ``config`` add to a run.

    base: the policy that is kept near to. task, prompts: whose openings the routing prior keeps;
    the trained ones, or those of a task that comes later. reward: the run's, which a soft schedule
    changes.
    """
    reference = Reference(base)
    terms: list[LossTerm] = []
    if config.opening_kl is not None:
        terms.append(OpeningKL(config.opening_kl, reference))
    if config.routing is not None:
        terms.append(RoutingPrior(config.routing, reference, task, prompts, tokenizer, seed))
    label = "solution" if config.balanced is None else config.balanced.label
    taps: list[Tap] = [support_tap(label)]
    callbacks: list[Any] = []
    if config.adaptive_kl is not None:
        adaptive = AdaptiveKL(config.adaptive_kl)
        callbacks.append(adaptive)
        taps.append(adaptive.tap)
    if config.early_stop is not None:
        callbacks.append(EarlyStop(config.early_stop))
    return Extras(
        terms=tuple(terms),
        taps=tuple(taps),
        advantage=_rule(config, reward or RewardConfig(), algorithm),
        callbacks=tuple(callbacks),
    )


def _rule(config: PreserveConfig, reward: RewardConfig, algorithm: str) -> AdvantageRule | None:
    if config.balanced is None and config.pass_at_k is None and config.soft_schedule is None:
        return None
    rule = advantage_rule(
        balanced=config.balanced,
        pass_at_k=config.pass_at_k,
        scale=config.scale,
        leave_one_out=algorithm == "rloo",
    )
    if config.soft_schedule is None:
        return rule
    return scheduled(config.soft_schedule, reward, rule)
