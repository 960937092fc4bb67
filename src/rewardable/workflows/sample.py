"""Sample policies on tasks into a run folder; resumes where it was interrupted."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from rewardable.collect import (
    AdaptiveReport,
    GenerateReport,
    Progress,
    collect_adaptively,
    generate,
)
from rewardable.engines import Engine, EngineOptions, close_engine, open_engine
from rewardable.errors import DataError, ResumeError
from rewardable.metrics import StoppingRule
from rewardable.protocols import Sampler, Task
from rewardable.records import Policy, Prompt, SamplingSpec
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.tasks.perturb import paraphrased
from rewardable.workflows.adaptive import need_of, reopened, stored_outcomes
from rewardable.workflows.config import FREE_KEYS, RunConfig
from rewardable.workflows.events import Event, OnEvent, ignore
from rewardable.workflows.policies import in_turn
from rewardable.workflows.screen import add_screen, for_screens, screens_of, wants_screen


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleReport:
    """What one call of :func:`sample` did. ``seconds`` counts sampling alone.

    graded, ungraded, why_ungraded: verdicts given on the way, under a stopping rule.
    """

    rollouts: int
    new: int
    failed: int
    tokens: int
    seconds: float
    reasons: dict[str, int]
    graded: int = 0
    ungraded: int = 0
    why_ungraded: dict[str, int] = field(default_factory=dict)


def open_run(path: Path, config: RunConfig) -> Run:
    """Open the run folder for ``config``, or make it; ResumeError when it belongs to another."""
    return Run.resume_or_create(path, config.to_dict(), may_differ=FREE_KEYS)


def sample(
    run: Run,
    config: RunConfig,
    on_event: OnEvent = ignore,
    *,
    retry_failed: bool = False,
    workers: int = 0,
    timeout_s: float | None = None,
) -> SampleReport:
    """Draw all rollouts of ``config`` that the run does not hold yet.

    retry_failed: draw those again whose engine failed. workers, timeout_s: as for grading, which
    under a stopping rule takes turns with sampling.

    Raises
    ------
    ResumeError: a policy is not the one that the run holds rollouts of.
    """
    tasks = [load_task(spec) for spec in config.tasks]
    prompts = {task.name: _prompts(run, task, config) for task in tasks}
    run.add_specs(config.specs)
    draw = _Draw(run, config, on_event, retry_failed, workers, timeout_s)
    opened: list[tuple[str, EngineOptions, str]] = []
    reports: list[SampleReport] = []

    def visit(position: int, source: str, options: EngineOptions, engine: Engine) -> None:
        run.add_policies([_named(run, engine.policy, source)])
        opened.append((source, options, engine.policy.key))
        stage = f"policy {position + 1}/{len(config.policies)} {engine.policy.name}"
        for task, spec in product(tasks, config.specs):
            what = _stage(stage, task, spec, config)
            reports.append(draw(engine, task, prompts[task.name], spec, what))
        if position == 0 and wants_screen(config, engine.policy):
            add_screen(run, config)
        for task in map(load_task, screens_of(run, config)):
            few = replace(draw, config=for_screens(config))
            what = f"{stage} on {task.name}"
            reports.append(few(engine, task, list(run.prompts(task.name)), config.specs[0], what))

    in_turn(config, visit)
    return _sum(reports + _taken_up_again(draw, opened, tasks, prompts))


def _taken_up_again(
    draw: _Draw,
    opened: list[tuple[str, EngineOptions, str]],
    tasks: list[Task],
    prompts: dict[str, list[Prompt]],
) -> list[SampleReport]:
    """Go on with prompts that were given up although another policy solves them, but late."""
    rule, config = draw.config.stopping, draw.config
    if rule is None or not rule.give_up or len(opened) < 2:
        return []
    reports: list[SampleReport] = []
    keys = [key for _, _, key in opened]
    again = {(task.name, spec.key): reopened(draw.run, rule, keys, spec, task)
             for task, spec in product(tasks, config.specs)}  # fmt: skip
    for source, options, key in opened:
        if not any(found[key] for found in again.values()):
            continue
        engine = open_engine(source, options)
        for task, spec in product(tasks, config.specs):
            some = again[task.name, spec.key][key]
            rows = [prompt for prompt in prompts[task.name] if prompt.key in some]
            if rows:
                what = _stage(f"taken up again, {engine.policy.name}", task, spec, config)
                done = draw(engine, task, rows, spec, what, rule.to_the_end)
                reports.append(replace(done, rollouts=done.new))
        close_engine(engine)
        del engine  # before the next one is opened
    return reports


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


def _prompts(run: Run, task: Task, config: RunConfig) -> list[Prompt]:
    prompts = list(task.prompts(config.prompts, config.prompts_seed))
    if not prompts:
        raise DataError(f"task {task.name!r} gave no prompts.")
    prompts = list(paraphrased(task, prompts, config.perturb))
    run.add_prompts(prompts)
    return prompts


def _stage(stage: str, task: Task, spec: SamplingSpec, config: RunConfig) -> str:
    """Name a task and, where there are several, a temperature."""
    what = f"{stage} on {task.name.partition(':')[0]}"
    return f"{what} at T={spec.temperature:g}" if len(config.specs) > 1 else what


@dataclass(frozen=True, slots=True)
class _Draw:
    """Draws what a run lacks of one policy, task and specification, as it was told."""

    run: Run
    config: RunConfig
    on_event: OnEvent
    retry_failed: bool
    workers: int
    timeout_s: float | None

    def __call__(
        self,
        engine: Sampler,
        task: Task,
        prompts: list[Prompt],
        spec: SamplingSpec,
        stage: str,
        rule: StoppingRule | None = None,
    ) -> SampleReport:
        def tell(progress: Progress) -> None:
            speed = progress.tokens / progress.seconds if progress.seconds > 0 else 0.0
            detail = f"{speed:,.0f} tokens/s" if progress.tokens else ""
            self.on_event(
                Event(stage=stage, done=progress.done, total=progress.total, detail=detail)
            )

        start = time.perf_counter()
        rule = rule or self.config.stopping
        told: dict[str, Any] = {"retry_failed": self.retry_failed, "on_progress": tell}
        if rule is None:
            plain = generate(engine, prompts, self.config.n, spec, self.run, **told)
            return _report(plain, time.perf_counter() - start)
        judged = stored_outcomes(self.run, engine.policy.key, spec, task)
        told |= {"workers": self.workers, "timeout_s": self.timeout_s}
        found = collect_adaptively(
            engine, task.verifier, prompts, need_of(rule), spec, self.run, judged, **told
        )
        return replace(
            _report(found, time.perf_counter() - start),
            graded=found.n_graded,
            ungraded=found.n_ungraded,
            why_ungraded=dict(found.why_ungraded),
        )


def _report(report: GenerateReport | AdaptiveReport, seconds: float) -> SampleReport:
    return SampleReport(
        rollouts=report.n_done,
        new=report.n_new,
        failed=report.n_failed,
        tokens=report.tokens,
        seconds=seconds,
        reasons=dict(report.reasons),
    )


def _sum(reports: list[SampleReport]) -> SampleReport:
    reasons, ungraded = Counter[str](), Counter[str]()
    for report in reports:
        reasons.update(report.reasons)
        ungraded.update(report.why_ungraded)
    return SampleReport(
        rollouts=sum(r.rollouts for r in reports),
        new=sum(r.new for r in reports),
        failed=sum(r.failed for r in reports),
        tokens=sum(r.tokens for r in reports),
        seconds=sum(r.seconds for r in reports),
        reasons=dict(reasons),
        graded=sum(r.graded for r in reports),
        ungraded=sum(r.ungraded for r in reports),
        why_ungraded=dict(ungraded),
    )
