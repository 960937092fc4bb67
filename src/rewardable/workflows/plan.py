"""What an audit would cost and what it could show, before it is run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewardable.collect.judge import judge
from rewardable.engines import close_engine, open_engine
from rewardable.errors import DataError
from rewardable.metrics import (
    StoppingRule,
    detection_power,
    needed_n,
    smallest_certified_loss,
)
from rewardable.metrics.designs import expected_rollouts, rollouts_after_probe
from rewardable.metrics.pairs import design_power, design_smallest_loss
from rewardable.metrics.power import TYPICAL_THRESHOLD
from rewardable.protocols import SampleRequest, Task
from rewardable.records import FinishReason, Outcome, Prompt, Rollout
from rewardable.tasks import load_task
from rewardable.workflows.config import RunConfig

RATES = (0.05, 0.1, 0.2, 0.5)
"""Success rates whose fall to zero the plan speaks of."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """Speed and length measured on a few rollouts of the base that are thrown away."""

    rollouts: int
    tokens_per_second: float
    tokens_per_rollout: float
    truncated: float
    counts: tuple[tuple[int, int], ...] = ()
    """graded rollouts and successes of each prompt"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """Chance that one prompt's fall from ``rate`` to 0 is certified, and the n for 80 %."""

    rate: float
    power: float
    needed_n: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Size, time and power of an audit. ``tokens`` and ``hours`` need a probe.

    rollouts: at most, under a stopping rule. likely: expected under it, if all policies and tasks
    were like the probe. design: the rule in words. expected: (success rate, rollouts a prompt).
    """

    rollouts: int
    probe: Probe | None
    tokens: float | None
    hours: float | None
    powers: tuple[Power, ...]
    smallest_loss: float | None
    likely: float | None = None
    design: str = ""
    expected: tuple[tuple[float, float], ...] = ()


def plan(config: RunConfig, *, probe_rollouts: int = 32) -> Plan:
    """Plan the audit of ``config``. ``probe_rollouts`` = 0 measures no speed and loads nothing.

    The power is that of one prompt on its own at n samples a policy, before false-discovery
    control over the prompts; with many prompts and few losses it is lower.
    """
    arms = len(config.policies) * len(config.tasks) * len(config.temperatures)
    rule, most = config.stopping, arms * config.prompts * config.n
    found = _probe(config, probe_rollouts) if probe_rollouts else None
    likely = None
    if rule is not None and found is not None:
        n, c = zip(*found.counts, strict=True)
        likely = arms * config.prompts * rollouts_after_probe(rule, n, c)
    tokens = (likely or most) * found.tokens_per_rollout if found else None
    hours = tokens / found.tokens_per_second / 3600 if found and tokens is not None else None
    alpha = TYPICAL_THRESHOLD
    return Plan(
        rollouts=most,
        probe=found,
        tokens=tokens,
        hours=hours,
        powers=tuple(_power(config, rate) for rate in RATES),
        smallest_loss=smallest_certified_loss(config.n)
        if rule is None
        else design_smallest_loss(rule, rule, alpha),
        likely=likely,
        design="" if rule is None else rule.words,
        expected=() if rule is None else _expected(rule),
    )


def _expected(rule: StoppingRule) -> tuple[tuple[float, float], ...]:
    rates = (0.0, *RATES)
    return tuple(zip(rates, expected_rollouts(rule, rates).tolist(), strict=True))


def _power(config: RunConfig, rate: float) -> Power:
    rule, fixed = config.stopping, needed_n(rate, power=0.8)
    if rule is None:
        return Power(rate=rate, power=detection_power(config.n, rate, 0.0), needed_n=fixed)
    power = design_power(rule, rule, rate, 0.0, TYPICAL_THRESHOLD)
    return Power(rate=rate, power=power, needed_n=fixed)


def _probe(config: RunConfig, rollouts: int) -> Probe:
    engine = open_engine(config.policies[0], config.engine_options())
    task = load_task(config.task)
    prompts = task.prompts(min(8, config.prompts), config.prompts_seed)
    each = max(1, rollouts // len(prompts))
    requests = [SampleRequest(prompt=p, indices=tuple(range(each))) for p in prompts]
    start = time.perf_counter()
    drawn = list(engine.sample(requests, config.specs[0]))
    seconds = time.perf_counter() - start
    close_engine(engine)
    made = [row for row in drawn if not row.completion.failure]
    speed = _speed(made, len(drawn), seconds)
    return speed if config.stopping is None else replace(speed, counts=_graded(task, prompts, made))


def _graded(
    task: Task, prompts: Sequence[Prompt], rows: list[Rollout]
) -> tuple[tuple[int, int], ...]:
    by_key = {prompt.key: prompt for prompt in prompts}
    tally = {key: Counter[Outcome]() for key in by_key}
    for row in rows:
        key = row.id.prompt_key
        tally[key][judge(task.verifier, by_key[key], row.completion).outcome] += 1
    return tuple(
        (one[Outcome.CORRECT] + one[Outcome.WRONG], one[Outcome.CORRECT]) for one in tally.values()
    )


def _speed(rows: list[Rollout], drawn: int, seconds: float) -> Probe:
    if not rows:
        raise DataError(f"all {drawn} probe rollouts failed; try: rewardable sample -n 1")
    tokens = sum(len(row.completion.token_ids) for row in rows)
    cut = sum(row.completion.finish_reason is FinishReason.LENGTH for row in rows)
    return Probe(
        rollouts=len(rows),
        tokens_per_second=tokens / seconds,
        tokens_per_rollout=tokens / len(rows),
        truncated=cut / len(rows),
    )
