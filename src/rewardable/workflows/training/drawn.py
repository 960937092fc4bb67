"""Graded rollouts that a run learns from, or chooses its prompts by: given, or drawn first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rewardable.errors import DataError
from rewardable.protocols import Task
from rewardable.records import FinishReason, Outcome, Prompt
from rewardable.store import Run
from rewardable.train.preserve import trainable_prompts
from rewardable.train.rows import GradedRow, TextRow, correct_rows, gold_rows
from rewardable.workflows.config import RunConfig
from rewardable.workflows.events import OnEvent
from rewardable.workflows.grade import grade
from rewardable.workflows.sample import open_run, sample
from rewardable.workflows.training.plan import DrawPlan, FilterPlan, SourcesPlan, TrainPlan

FIRST_DRAWN = "first-drawn"


def graded_rows(
    path: Path, plan: TrainPlan, base: str, draw: DrawPlan, on_event: OnEvent
) -> list[GradedRow]:
    """Return the graded rollouts of ``draw.run``, or of the policy itself on the training task.

    Raises
    ------
    DataError: the run holds none.
    """
    run = Run.open(draw.run) if draw.run else _drawn(path, plan, base, draw, on_event)
    found = list(_graded(run))
    if draw.run:  # ids of whoever answered: the trained policy may have another tokenizer
        found = [replace(row, token_ids=()) for row in found]
    if not found:
        raise DataError(f"{run.path} holds no graded rollout to learn from.")
    return found


def learned_rows(
    path: Path, plan: TrainPlan, base: str, task: Task, on_event: OnEvent
) -> Task | Sequence[TextRow] | Sequence[GradedRow]:
    """Return what SFT or DPO learns from: rollouts, or for SFT without any the gold answers."""
    if plan.rollouts is None and plan.method == "sft":
        return task
    rows = graded_rows(path, plan, base, plan.rollouts or DrawPlan(), on_event)
    return correct_rows(rows) if plan.method == "sft" else rows


def filtered(
    path: Path, plan: TrainPlan, base: str, chosen: FilterPlan, on_event: OnEvent
) -> list[Prompt]:
    """Return the training prompts whose measured trainability lies in the band."""
    draw = DrawPlan(
        n=chosen.n,
        prompts=plan.recipe.train_prompts,
        max_new_tokens=plan.recipe.max_new_tokens,
        temperature=plan.recipe.temperature,
    )
    run = _drawn(path, plan, base, draw, on_event)
    counts: dict[str, tuple[int, int]] = {}
    for row in _graded(run):
        n, c = counts.get(row.prompt.key, (0, 0))
        graded = row.verdict.outcome is not Outcome.UNGRADED
        right = row.verdict.outcome is Outcome.CORRECT
        counts[row.prompt.key] = (n + graded, c + right)
    kept = set(trainable_prompts(counts, chosen.band))
    return [prompt for prompt in run.prompts() if prompt.key in kept]


def supervised_rows(sources: SourcesPlan, task: Task, seed: int) -> tuple[TextRow, ...]:
    """Return the rows of ``supervised``: a run's right answers, or a task's own."""
    if sources.supervised and Path(sources.supervised).is_dir():
        return correct_rows(_graded(Run.open(sources.supervised)))
    source = sources.task(task)
    return gold_rows(source, source.prompts(sources.count, seed), sources.per_prompt, seed)


def _drawn(path: Path, plan: TrainPlan, base: str, draw: DrawPlan, on_event: OnEvent) -> Run:
    config = RunConfig(
        policies=(base,),
        task=plan.task,
        n=draw.n,
        prompts=draw.prompts,
        max_new_tokens=draw.max_new_tokens,
        temperatures=(draw.temperature,),
        seed=plan.seed,
        prompts_seed=plan.seed,
    )
    run = open_run(path / FIRST_DRAWN, config)
    sample(run, config, on_event)
    grade(run, on_event=on_event)
    return run


def _graded(run: Run) -> Iterator[GradedRow]:
    prompts = {prompt.key: prompt for prompt in run.prompts()}
    for group in run.groups():
        keys = [key for key, prompt in prompts.items() if prompt.task == group.task]
        rows = run.rollouts(policy_key=group.policy_key, spec_key=group.spec_key, prompt_keys=keys)
        for rollout, verdict in rows:
            if verdict is not None:
                done = rollout.completion
                yield GradedRow(
                    prompt=prompts[rollout.id.prompt_key],
                    text=done.text,
                    verdict=verdict,
                    token_ids=done.token_ids,
                    truncated=done.finish_reason is FinishReason.LENGTH,
                )
