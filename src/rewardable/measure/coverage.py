"""Table of coverage: which share of the solutions that exist is found, at equal rollouts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rewardable.measure.arms import Bools
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.quantities import coverage_curve
from rewardable.measure.rows import arm_curve, pair_curve
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Row, Table

COVERAGE = "coverage@k"
ALL, SOLVED = "all prompts", "prompts that all policies solve"

NOTE = (
    "Coverage at k is the mean over prompts of the expected share of all existing solutions (or "
    "entry families) that k rollouts find with a success; a prompt without success counts as 0. "
    "Policies are compared at equal rollouts."
)


def coverage_table(study: Study) -> Table:
    """Coverage of solutions and entry families over budgets, per arm and paired."""
    rows: list[Row] = []
    notes = [NOTE]
    for task in study.tasks:
        kinds = coverage_kinds(task)
        if not kinds:
            notes.append(f"{task.task}: the solutions that exist are not known; no coverage.")
        for kind in kinds:
            rows += _kind_rows(study, task, kind, ALL, task.ks, None)
            solved_P = solved_by_all(task)
            if solved_P.any() and not solved_P.all():
                few = sorted({task.common_k, task.ks[-1]})
                rows += _kind_rows(study, task, kind, SOLVED, few, solved_P)
    return Table(
        name="coverage",
        title="Share of the existing solutions that are found",
        rows=tuple(rows),
        notes=tuple(notes),
        provenance=study.provenance,
    )


def coverage_kinds(task: TaskStudy) -> list[str]:
    """Return the label kinds that occur and whose totals are known for some prompt.

    Without any success no label can occur: then every kind with totals, all with coverage 0.
    """
    kinds = set[str]().union(*(arm.samples.labels for arm in task.arms))
    if not any(arm.counts.c_P.any() for arm in task.arms):
        kinds |= set(task.arms[0].samples.totals)
    totals = task.arms[0].samples.totals
    known = [kind for kind in kinds if kind in totals and np.isfinite(totals[kind]).any()]
    return sorted(known, key=lambda kind: (kind != "solution", kind))


def solved_by_all(task: TaskStudy) -> Bools:
    """Return which prompts have a success in every arm."""
    return np.all([arm.counts.c_P > 0 for arm in task.arms], axis=0)


def _kind_rows(
    study: Study, task: TaskStudy, kind: str, scope: str, ks: Sequence[int],
    keep_P: Bools | None,
) -> list[Row]:  # fmt: skip
    common = {"metric": COVERAGE, "kind": kind, "scope": scope}
    rows: list[Row] = []
    items = {id(arm): _kept(coverage_curve(arm, ks, kind), keep_P) for arm in task.arms}
    for arm in task.arms:
        rows += arm_curve(arm, items[id(arm)], ks, study.config, **common)
    for pair in (*task.pairs, *task.cross_pairs):
        sides = items[id(pair.before)], items[id(pair.after)]
        rows += pair_curve(pair, sides, ks, study.config, **common)
    return rows


def _kept(item: PerPrompt, keep_P: Bools | None) -> PerPrompt:
    return item if keep_P is None else item.kept(keep_P)
