"""Grade a run's rollouts with the verifiers of its tasks; never samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardable.collect import Progress
from rewardable.collect import grade as grade_pass
from rewardable.protocols import Task
from rewardable.records import Prompt, Rollout
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.config import IMPORTED, config_from_dict
from rewardable.workflows.events import Event, OnEvent, ignore
from rewardable.workflows.screen import screens_of
from rewardable.workflows.wording import keep_wording


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeSummary:
    """Verdicts added by one call, by what became of them. ``reasons`` explain the ungraded."""

    graded: int
    ungraded: int
    reasons: dict[str, int]


def grade(
    run: Run,
    *,
    workers: int = 0,
    timeout_s: float | None = None,
    retry_ungraded: bool = False,
    on_event: OnEvent = ignore,
) -> GradeSummary:
    """Judge every rollout that the current verifier versions have not judged yet.

    The wording of texts is counted on the way, for the figures of diversity; of an imported run,
    whose verdicts came with it, that is all.

    workers: processes; 0 grades in this one (right for the fast verifiers of this package).
    timeout_s: seconds a verdict may take; later it is UNGRADED; makes a worker.
    retry_ungraded: judge those again that this version left UNGRADED.
    """
    graded, ungraded, reasons = 0, 0, dict[str, int]()
    if IMPORTED in run.config:
        keep_wording(run, [prompt.key for prompt in run.prompts()], on_event, task=IMPORTED)
        return GradeSummary(graded=graded, ungraded=ungraded, reasons=reasons)
    config = config_from_dict(run.config)
    for spec in (*config.tasks, *screens_of(run, config)):
        task = load_task(spec)
        stage = f"grading {task.name}"

        def tell(progress: Progress, stage: str = stage) -> None:
            on_event(Event(stage=stage, done=progress.done, total=progress.total))

        prompts = run.prompts(task.name)
        report = grade_pass(
            task.verifier,
            prompts,
            run,
            rollouts=_again(run, task, prompts) if retry_ungraded else None,
            workers=workers,
            timeout_s=timeout_s,
            on_progress=tell,
        )
        graded += report.n_graded
        ungraded += report.n_ungraded
        for reason, count in report.reasons.items():
            reasons[reason] = reasons.get(reason, 0) + count
        first = config.stopping.first if config.stopping and spec in config.tasks else 0
        keys = [prompt.key for prompt in prompts]
        keep_wording(run, keys, on_event, task=task.name, first=first)
    return GradeSummary(graded=graded, ungraded=ungraded, reasons=reasons)


def n_ungraded_yet(run: Run) -> int:
    """Return how many of a sampled run's rollouts no current verifier has judged."""
    config = config_from_dict(run.config)
    tasks = [load_task(spec) for spec in (*config.tasks, *screens_of(run, config))]
    return sum(
        run.n_pending(
            task.verifier.name, task.verifier.version, [p.key for p in run.prompts(task.name)]
        )
        for task in tasks
    )


def _again(run: Run, task: Task, prompts: Sequence[Prompt]) -> Iterator[Rollout]:
    verifier = task.verifier
    keys = [prompt.key for prompt in prompts]
    return run.pending(verifier.name, verifier.version, keys, retry_ungraded=True)
