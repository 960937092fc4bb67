"""Probes of plasticity for every policy, kept on disk, and their comparison with the base."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rewardable.metrics import Interval, mean_interval, paired_interval
from rewardable.results import Estimate
from rewardable.store.files import write_text
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, LoraRecipe, load
from rewardable.train.rows import gold_rows
from rewardable.workflows.choosing.plan import ProbePlan
from rewardable.workflows.events import Event, OnEvent

START, END, FALL = "loss at step 0", "loss at the last step", "fall of the loss"
FIRST, LAST, GAIN = "reward of the first steps", "reward of the last steps", "gain of reward"
_LOSSES: Mapping[str, Callable[[Any], float]] = {
    START: lambda one: one["start"],
    END: lambda one: one["end"],
    FALL: lambda one: one["start"] - one["end"],
}
_REWARDS: Mapping[str, Callable[[Any], float]] = {
    FIRST: lambda one: one["first"],
    LAST: lambda one: one["last"],
    GAIN: lambda one: one["last"] - one["first"],
}
_P = "rewardable.train.plasticity:"
Found = Sequence[Mapping[str, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Probed:
    """One figure of one policy over the seeds. change: against the base, after minus before."""

    policy: str
    metric: str
    level: Estimate
    change: Estimate | None


def probe_all(
    path: Path, plan: ProbePlan, sources: Mapping[str, str], on_event: OnEvent
) -> list[Probed]:
    """Probe every policy (name -> source, the base first); what ``path`` holds is not done again.

    Raises
    ------
    ConfigError: the probe's task writes no right answers.
    """
    losses = _kept(path / "probes.json", asdict(plan), sources, _prober(plan), on_event)
    found = _compared(losses, _LOSSES, plan.seeds)
    if plan.reward_steps:
        gains = _kept(path / "gains.json", asdict(plan), sources, _gainer(plan), on_event)
        found += _compared(gains, _REWARDS, plan.reward_seeds)
    return found


def _prober(plan: ProbePlan) -> Callable[[str], Found]:
    task = load_task(plan.task)
    prompts = task.prompts(plan.held_out + plan.batch * plan.steps, 0)
    rows = gold_rows(task, prompts, 1, 0)
    recipe = load(_P + "PlasticityRecipe")(
        steps=plan.steps,
        batch=plan.batch,
        learning_rate=plan.learning_rate,
        seeds=plan.seeds,
        held_out=plan.held_out,
        lora=LoraRecipe(rank=plan.lora, alpha=2 * plan.lora) if plan.lora else None,
    )
    probe = load(_P + "probe")
    return lambda source: [asdict(one) for one in probe(source, rows, recipe)]


def _gainer(plan: ProbePlan) -> Callable[[str], Found]:
    task, gain = load_task(plan.task), load(_P + "reward_gain")

    def gained(source: str) -> Found:
        return [asdict(gain(source, task, _grpo(plan, seed))) for seed in range(plan.reward_seeds)]

    return gained


def _grpo(plan: ProbePlan, seed: int) -> GRPORecipe:
    return GRPORecipe(
        steps=plan.reward_steps,
        prompts_per_step=8,
        group_size=8,
        train_prompts=8 * plan.reward_steps,
        max_new_tokens=plan.max_new_tokens,
        learning_rate=plan.learning_rate,
        lora=LoraRecipe(rank=plan.lora, alpha=2 * plan.lora) if plan.lora else None,
        seed=seed,
    )


def _kept(
    file: Path,
    settings: Mapping[str, Any],
    sources: Mapping[str, str],
    measure: Callable[[str], Found],
    on_event: OnEvent,
) -> dict[str, Found]:
    """Measure each policy, writing the file after each; one of other settings is begun anew."""
    held = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    known: dict[str, Found] = held["policies"] if held.get("settings") == settings else {}
    stage = f"{file.stem} on {settings['task']}"
    for done, (name, source) in enumerate(sources.items()):
        on_event(Event(stage=stage, done=done, total=len(sources), detail=name))
        key = _stamped(source)
        if key not in known:
            known[key] = measure(source)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps({"settings": settings, "policies": known}, indent=1))
    on_event(Event(stage=stage, done=len(sources), total=len(sources)))
    return {name: known[_stamped(source)] for name, source in sources.items()}


def _stamped(source: str) -> str:
    """Return the source with when its files last changed, so that a new checkpoint is measured."""
    files = [path for path in Path(source).glob("*") if path.is_file()]
    return f"{source} {max((path.stat().st_mtime_ns for path in files), default=0)}"


def _compared(
    found: Mapping[str, Found], figures: Mapping[str, Callable[[Any], float]], seeds: int
) -> list[Probed]:
    base = next(iter(found))
    return [
        Probed(
            policy=policy,
            metric=metric,
            level=estimate(mean_interval(_values(rows, read), bounds=None), seeds),
            change=None
            if policy == base
            else estimate(
                paired_interval(_values(found[base], read), _values(rows, read), bounds=None), seeds
            ),
        )
        for policy, rows in found.items()
        for metric, read in figures.items()
    ]


def _values(rows: Found, read: Callable[[Any], float]) -> list[float]:
    return [read(row) for row in rows]


def estimate(found: Interval, seeds: int) -> Estimate:
    """Return an interval over seeds as an estimate; ends that are not known are None."""
    ends = [None if end != end else end for end in (found.low, found.high)]  # noqa: PLR0124
    return Estimate(
        value=found.mean,
        low=ends[0],
        high=ends[1],
        level=found.level,
        method=f"{found.method.replace('prompts', 'seeds')} ({seeds} seeds, paired by seed)",
        warnings=tuple(text.replace("prompts", "seeds") for text in found.warnings),
    )


def turned(one: Estimate) -> Estimate:
    """Return minus an estimate."""

    def minus(value: float | None) -> float | None:
        return None if value is None else -value

    return Estimate(
        value=minus(one.value), low=minus(one.high), high=minus(one.low), level=one.level,
        method=one.method, warnings=one.warnings,
    )  # fmt: skip
