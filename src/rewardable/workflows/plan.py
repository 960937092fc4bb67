"""What an audit would cost and what it could show, before it is run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rewardable.engines import open_engine
from rewardable.errors import DataError
from rewardable.metrics import detection_power, needed_n, smallest_certified_loss
from rewardable.protocols import SampleRequest
from rewardable.records import FinishReason, Rollout
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """Chance that one prompt's fall from ``rate`` to 0 is certified, and the n for 80 %."""

    rate: float
    power: float
    needed_n: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Size, time and power of an audit. ``tokens`` and ``hours`` need a probe."""

    rollouts: int
    probe: Probe | None
    tokens: float | None
    hours: float | None
    powers: tuple[Power, ...]
    smallest_loss: float | None


def plan(config: RunConfig, *, probe_rollouts: int = 32) -> Plan:
    """Plan the audit of ``config``. ``probe_rollouts`` = 0 measures no speed and loads nothing.

    The power is that of one prompt on its own at n samples a policy, before false-discovery
    control over the prompts; with many prompts and few losses it is lower.
    """
    rollouts = (
        (len(config.policies) * len(config.tasks) * len(config.temperatures))
        * config.prompts
        * config.n
    )
    found = _probe(config, probe_rollouts) if probe_rollouts else None
    tokens = rollouts * found.tokens_per_rollout if found else None
    hours = tokens / found.tokens_per_second / 3600 if found and tokens is not None else None
    return Plan(
        rollouts=rollouts,
        probe=found,
        tokens=tokens,
        hours=hours,
        powers=tuple(_power(config.n, rate) for rate in RATES),
        smallest_loss=smallest_certified_loss(config.n),
    )


def _power(n: int, rate: float) -> Power:
    return Power(rate=rate, power=detection_power(n, rate, 0.0), needed_n=needed_n(rate, power=0.8))


def _probe(config: RunConfig, rollouts: int) -> Probe:
    engine = open_engine(config.policies[0], config.engine_options())
    prompts = load_task(config.task).prompts(min(8, config.prompts), config.prompts_seed)
    each = max(1, rollouts // len(prompts))
    requests = [SampleRequest(prompt=p, indices=tuple(range(each))) for p in prompts]
    start = time.perf_counter()
    drawn = list(engine.sample(requests, config.specs[0]))
    seconds = time.perf_counter() - start
    return _speed([row for row in drawn if not row.completion.failure], len(drawn), seconds)


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
