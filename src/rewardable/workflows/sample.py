"""Sample policies on tasks into a run folder; resumes where it was interrupted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.collect import Progress, generate
from rewardable.engines import Engine, EngineOptions, open_engine
from rewardable.errors import DataError, ResumeError
from rewardable.protocols import Sampler, Task
from rewardable.records import Policy, Prompt, SamplingSpec
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.config import FREE_KEYS, RunConfig
from rewardable.workflows.events import Event, OnEvent, ignore


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleReport:
    """What one call of :func:`sample` did. ``seconds`` counts sampling alone."""

    rollouts: int
    new: int
    failed: int
    tokens: int
    seconds: float
    reasons: dict[str, int]


def open_run(path: Path, config: RunConfig) -> Run:
    """Open the run folder for ``config``, or make it; ResumeError when it belongs to another."""
    return Run.resume_or_create(path, config.to_dict(), may_differ=FREE_KEYS)


def sample(
    run: Run, config: RunConfig, on_event: OnEvent = ignore, *, retry_failed: bool = False
) -> SampleReport:
    """Draw all rollouts of ``config`` that the run does not hold yet.

    retry_failed: draw those again whose engine failed.

    Raises
    ------
    ResumeError: a policy is not the one that the run holds rollouts of.
    """
    tasks = {spec: load_task(spec) for spec in config.tasks}
    prompts = {spec: _prompts(run, task, config) for spec, task in tasks.items()}
    run.add_specs(config.specs)
    options = config.engine_options()
    reports: list[SampleReport] = []
    for position, source in enumerate(config.policies):
        engine = open_engine(source, options)
        run.add_policies([_named(run, engine.policy, source)])
        stage = f"policy {position + 1}/{len(config.policies)} {engine.policy.name}"
        reports += [
            _sample_one(run, engine, rows, config.n, spec, what, retry_failed, on_event)
            for rows, spec, what in _parts(config, prompts, stage)
        ]
        if position == 0 and not (config.template_from or config.own_templates):
            options = _like_base(options, engine, source)
    return _sum(reports)


def _named(run: Run, policy: Policy, source: str) -> Policy:
    """Return the policy under the source it was asked for by; an error for a twin or a change."""
    for known in run.policies():
        if known.source == source and known.key != policy.key:
            raise ResumeError(
                f"{source} has other weights, adapter or template than when {run.path} was "
                "sampled. Use another run folder for it."
            )
        if known.key == policy.key and known.source != source:
            raise DataError(
                f"{source} and {known.source} are the same policy, to the byte; name one of them."
            )
    return replace(policy, source=source)


def _like_base(options: EngineOptions, base: Engine, source: str) -> EngineOptions:
    """Return options that give every later policy the base's prompt template."""
    if base.policy.template == "raw":
        return replace(options, prompt_format="raw")
    return replace(options, template_from=source)


def _prompts(run: Run, task: Task, config: RunConfig) -> list[Prompt]:
    prompts = list(task.prompts(config.prompts, config.prompts_seed))
    if not prompts:
        raise DataError(f"task {task.name!r} gave no prompts.")
    run.add_prompts(prompts)
    return prompts


def _parts(
    config: RunConfig, prompts: dict[str, list[Prompt]], stage: str
) -> Iterator[tuple[list[Prompt], SamplingSpec, str]]:
    """Yield prompts, specification and stage name of every task and temperature."""
    for task, rows in prompts.items():
        for spec in config.specs:
            what = f"{stage} on {task.partition(':')[0]}"
            if len(config.specs) > 1:
                what = f"{what} at T={spec.temperature:g}"
            yield rows, spec, what


def _sample_one(
    run: Run,
    engine: Sampler,
    prompts: list[Prompt],
    n: int,
    spec: SamplingSpec,
    stage: str,
    retry_failed: bool,
    on_event: OnEvent,
) -> SampleReport:
    def tell(progress: Progress) -> None:
        speed = progress.tokens / progress.seconds if progress.seconds > 0 else 0.0
        detail = f"{speed:,.0f} tokens/s" if progress.tokens else ""
        on_event(Event(stage=stage, done=progress.done, total=progress.total, detail=detail))

    start = time.perf_counter()
    report = generate(engine, prompts, n, spec, run, retry_failed=retry_failed, on_progress=tell)
    return SampleReport(
        rollouts=report.n_done,
        new=report.n_new,
        failed=report.n_failed,
        tokens=report.tokens,
        seconds=time.perf_counter() - start,
        reasons=dict(report.reasons),
    )


def _sum(reports: list[SampleReport]) -> SampleReport:
    reasons: dict[str, int] = {}
    for report in reports:
        for reason, count in report.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
    return SampleReport(
        rollouts=sum(r.rollouts for r in reports),
        new=sum(r.new for r in reports),
        failed=sum(r.failed for r in reports),
        tokens=sum(r.tokens for r in reports),
        seconds=sum(r.seconds for r in reports),
        reasons=reasons,
    )
