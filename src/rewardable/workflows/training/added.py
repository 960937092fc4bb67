"""What a run's plan adds to its trainer: preservation methods, mixing, logs, the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewardable.protocols import Task
from rewardable.records import Prompt, SamplingSpec
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.train import StepReport, load
from rewardable.train.logs import RolloutRecorder, StepMetrics
from rewardable.workflows.config import IMPORTED
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training.drawn import supervised_rows
from rewardable.workflows.training.plan import TrainPlan

ROLLOUTS = "rollouts"
OnStep = Callable[[StepReport], None]
_TRAIN = "rewardable.train."


def settled(plan: TrainPlan) -> Any:
    """Return the recipe with the settings that its preservation methods need."""
    if plan.preserve is None:
        return plan.recipe
    return replace(plan.recipe, trl={**plan.preserve.trainer_settings(), **plan.recipe.trl})


def extras_of(
    path: Path,
    plan: TrainPlan,
    base: str,
    task: Task,
    prompts: Sequence[Prompt],
    guard: Any = None,
) -> Any:
    """Return the :class:`~rewardable.train.extras.Extras` of a run: methods first, logs last."""
    tokenizer = load(_TRAIN + "models:open_tokenizer")(base)
    found = logged(path, plan, base, prompts, tokenizer)
    if plan.mix is not None:
        found = mixed(plan, task, prompts) + found
    if plan.preserve is not None:
        build = load(_TRAIN + "preserve.build:build_extras")
        kept = build(
            plan.preserve, base, task, prompts, tokenizer, plan.seed,
            reward=plan.recipe.reward, algorithm=plan.recipe.algorithm,
        )  # fmt: skip
        found = kept + found
    if guard is not None:
        found = load(_TRAIN + "extras:Extras")(callbacks=(guard,)) + found
    return found


def mixed(plan: TrainPlan, task: Task, prompts: Sequence[Prompt]) -> Any:
    """Return the parts that mix other sources in."""
    sources, mix = plan.sources, plan.mix
    rows = supervised_rows(sources, task, plan.seed) if mix.supervised > 0 else ()
    others: Sequence[Prompt] = ()
    if mix.distill is not None:
        others = sources.other(task).prompts(sources.count, plan.seed)
        teacher = resolve_source(mix.distill.teacher)
        mix = replace(mix, distill=replace(mix.distill, teacher=teacher))
    build = load(_TRAIN + "mix.build:build_terms")
    return build(mix, prompts=prompts, rows=rows, other_prompts=others)


def logged(
    path: Path, plan: TrainPlan, base: str, prompts: Sequence[Prompt], tokenizer: Any
) -> Any:
    """Return the taps, the watch and the callback that write a run's figures and rollouts."""
    taps = log_taps(path, plan, base, prompts, tokenizer)
    book = load(_TRAIN + "logs.book:LogBook")(path, taps)
    return load(_TRAIN + "extras:Extras")(
        taps=(load(_TRAIN + "logs.together:Together")(taps),),
        watches=(load(_TRAIN + "logs.entropy:watch_entropy"),),
        callbacks=(load(_TRAIN + "logs.callback:StepLog")(book),),
    )


def log_taps(
    path: Path, plan: TrainPlan, base: str, prompts: Sequence[Prompt], tokenizer: Any
) -> list[Any]:
    """Return the taps that see every rollout: figures of the step, and the store."""
    by_key = {prompt.key: prompt for prompt in prompts}
    lenient = load_task(plan.logs.lenient).verifier if plan.logs.lenient else None
    taps: list[Any] = [StepMetrics(lenient=lenient, prompts=by_key)]
    if plan.logs.rollouts:
        taps.append(recorder(path, plan, base, by_key, tokenizer))
    return taps


class Booked:
    """A listener that writes every step into the run's log, for trainers without callbacks."""

    def __init__(self, path: Path, taps: Sequence[Any], on_step: OnStep, done: int) -> None:
        self._book = load(_TRAIN + "logs.book:LogBook")(path, taps)
        self._on_step = on_step
        self._book.begin(done)

    def __call__(self, report: StepReport) -> None:
        """Write the step, hand its rollouts on, and pass it on."""
        self._book.note(report.step, report.total, report.numbers)
        self._book.hand_on()
        self._on_step(report)

    def close(self) -> None:
        """Bring the rows into columns."""
        self._book.save()


def recorder(
    path: Path, plan: TrainPlan, base: str, prompts: Mapping[str, Prompt], tokenizer: Any
) -> RolloutRecorder:
    """Return the tap that keeps every training rollout in ``path/rollouts``."""
    run = Run.resume_or_create(path / ROLLOUTS, {IMPORTED: True})
    recipe = plan.recipe
    spec = SamplingSpec(
        temperature=recipe.temperature, max_new_tokens=recipe.max_new_tokens, seed=plan.seed
    )
    return RolloutRecorder(
        run,
        prompts,
        spec,
        run=f"{plan.method} {base} on {plan.task}, seed {plan.seed}",
        template="raw" if tokenizer.chat_template is None else "the policy's own",
    )
