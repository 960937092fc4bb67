"""The table of a sequence: what each stage gained, what it left for the next, how fast that was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardable.measure import MeasureConfig
from rewardable.measure.curves import curves_table, differences_table
from rewardable.measure.study import load_study
from rewardable.measure.trainability import trainability_table
from rewardable.results import Estimate, Label, Row, Table
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.sequence.speed import learning_speed, reward_series
from rewardable.workflows.training import AuditPlan

PASS, SUPPORT, TRAINABILITY = "pass@k", "support@k", "trainability"
SPEED, REWARD_START, REWARD_END = "steps to half of its gain", "reward at first", "reward at last"
CHANGE, LEVEL = "change", "level"

NOTE = (
    "A stage is compared with the policy that it began from, prompt by prompt. Support and "
    "trainability of a task that comes later say what the stage left for it. Steps to half of the "
    "gain are read off one training run's rewards: they have no interval over seeds."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """One stage of one order: from the policy ``before`` to ``after`` (keys)."""

    order: str
    position: int
    stage: str
    target: str
    next_target: str
    before: str
    after: str
    metrics: Path

    @property
    def labels(self) -> dict[str, Label]:
        """What every row of it says of itself."""
        return {"order": self.order, "position": self.position, "stage": self.stage}


def sequence_table(run: Run, audit: AuditPlan, passages: Sequence[Passage]) -> Table:
    """Measure every passage on every audited task.

    Rows: ``metric`` pass@k at 1, support@k and trainability as ``of`` level (the policy after the
    stage) and change (after minus before), with ``task`` and ``role`` (target, next, other; target
    where the next stage is after the same task); and the learning speed of the stage.
    """
    rows: list[Row] = []
    notes = [NOTE]
    for passage in passages:
        found = [*_measured(run, audit, passage), *_learned(passage)]
        rows += found
        notes.append(sentence(passage, found))
    return Table(
        name="sequence",
        title="What each stage gained, and what it left for the next",
        rows=tuple(rows),
        notes=tuple(notes),
        provenance={"run": str(run.path)},
    )


def _measured(run: Run, audit: AuditPlan, passage: Passage) -> list[Row]:
    names = {name: load_task(name).name for name in (audit.task, *audit.future_tasks)}
    others = tuple(names[name] for name in names if name != passage.target)
    study = load_study(
        run,
        MeasureConfig(
            base=passage.before,
            trained=(passage.after,),
            main_task=names[passage.target],
            future_tasks=others,
            group=audit.group,
            seed=audit.seed,
        ),
    )
    after = study.tasks[0].arms[-1].policy
    levels = [*curves_table(study).rows, *trainability_table(study).rows]
    changes = [*differences_table(study).rows, *trainability_table(study).rows]
    budget = study.tasks[0].headline_k
    picked = [
        *((LEVEL, row) for row in _picked(levels, budget, policy=after)),
        *((CHANGE, row) for row in _picked(changes, budget, after=after)),
    ]
    roles = {names.get(passage.next_target, ""): "next", names[passage.target]: "target"}
    return [
        Row(labels={**passage.labels, "of": of, "metric": row.labels["metric"],
                    "k": row.labels.get("k"), "task": row.labels["task"],
                    "role": roles.get(str(row.labels["task"]), "other")},
            estimate=row.estimate)
        for of, row in picked
    ]  # fmt: skip


def _picked(rows: Iterable[Row], budget: int, **labels: Label) -> list[Row]:
    wanted = ((PASS, 1), (SUPPORT, budget), (TRAINABILITY, None))
    return [
        row
        for row in rows
        if all(row.labels.get(name) == value for name, value in labels.items())
        and row.labels.get("band", "simultaneous") == "simultaneous"
        and (row.labels.get("metric"), row.labels.get("k")) in wanted
    ]


def _learned(passage: Passage) -> list[Row]:
    series = reward_series(passage.metrics)
    if not series:
        return []
    speed = learning_speed(series)
    values = {SPEED: speed.half_steps, REWARD_START: speed.first, REWARD_END: speed.last}
    return [
        Row(
            labels={**passage.labels, "of": LEVEL, "metric": name, "task": passage.target,
                    "role": "learning"},
            estimate=Estimate(value=value, method="one training run",
                              warnings=("no interval over training seeds",)),
        )
        for name, value in values.items()
    ]  # fmt: skip


def sentence(passage: Passage, rows: Sequence[Row]) -> str:
    """Say what a stage gained, what it left for the next, and how fast it learned."""

    def said(of: str, role: str, metric: str) -> str:
        for row in rows:
            labels = row.labels
            if (labels["of"], labels["role"], labels["metric"]) == (of, role, metric):
                return _number(row.estimate)
        return "unknown"

    text = (
        f"{passage.order}, stage {passage.position} ({passage.stage}): pass@1 on its target "
        f"{said(CHANGE, 'target', PASS)}"
    )
    if passage.next_target:
        later = "target" if passage.next_target == passage.target else "next"
        text += (
            f"; on what comes next support {said(CHANGE, later, SUPPORT)} prompts and "
            f"trainability {said(CHANGE, later, TRAINABILITY)}"
        )
    return f"{text}; half of its gain after {said(LEVEL, 'learning', SPEED)} steps."


def _number(estimate: Estimate) -> str:
    if estimate.value is None:
        return "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:g}"
    return f"{estimate.value:+.2f} [{estimate.low:+.2f}, {estimate.high:+.2f}]"
