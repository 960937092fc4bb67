"""Table of truncation: what a token limit does to the figures, counted as wrong and left out."""

from __future__ import annotations

import numpy as np

from rewardable.measure.arms import UNGRADED, WRONG, Arm, Counts, count
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.quantities import pass_curve, rollout_mean
from rewardable.measure.rows import arm_row, pair_row
from rewardable.measure.shape import TRUNCATED, truncation_R
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Row, Table

JUDGED, AS_WRONG, LEFT_OUT = "as judged", "counted as wrong", "left out"
PASS = "pass@k"

NOTE = (
    "An answer cut off by the token limit is no proof of lost support. The other tables take "
    "truncated answers as the verifier judged them; here they are also counted as wrong, and left "
    "out. Where a call changes between the two, raise the limit and sample again."
)


def truncation_table(study: Study) -> Table:
    """pass@1 and pass@k under three readings of truncated answers, per arm and paired."""
    rows: list[Row] = []
    notes = [NOTE]
    for task in study.tasks:
        notes.append(_sentence(task))
        if any(arm.cut_R.any() for arm in task.arms):
            rows += _rows(study, task)
    return Table(
        name="truncation",
        title="What the token limit does",
        rows=tuple(rows),
        notes=tuple(notes),
        provenance=study.provenance,
    )


def _sentence(task: TaskStudy) -> str:
    parts = [
        f"{int(arm.cut_R.sum())} of {len(arm.cut_R)} rollouts of {arm.policy} at {arm.spec}"
        + _judged_right(arm)
        for arm in task.arms
        if np.isfinite(truncation_R(arm)).any()
    ]
    if not parts:
        return f"{task.task}: nobody recorded which rollouts the token limit cut off."
    return f"{task.task}: cut off by the token limit: {'; '.join(parts)}."


def _judged_right(arm: Arm) -> str:
    right = int((arm.cut_R & (arm.outcome_R == 1)).sum())
    return f" ({right} of them judged correct)" if right else ""


def variant(arm: Arm, reading: str) -> Counts:
    """Return the counts under one reading of truncated answers; ungraded stay ungraded."""
    graded_cut_R = arm.cut_R & (arm.outcome_R != UNGRADED)
    outcome_R, keep_R = arm.outcome_R, np.ones(len(arm.cut_R), dtype=bool)
    if reading == AS_WRONG:
        outcome_R = np.where(graded_cut_R, np.int8(WRONG), outcome_R)
    elif reading == LEFT_OUT:
        keep_R = ~arm.cut_R
    return count(arm.samples.prompt_R[keep_R], outcome_R[keep_R], arm.n_prompts)


def _items(arm: Arm, reading: str, k: int) -> list[tuple[str, int, PerPrompt]]:
    counts = variant(arm, reading)
    return [
        (PASS, 1, pass_curve(arm, [1], counts=counts)),
        (PASS, k, pass_curve(arm, [k], counts=counts)),
    ]


def _rows(study: Study, task: TaskStudy) -> list[Row]:
    config, rows = study.config, list[Row]()
    for arm in task.arms:
        if np.isfinite(truncation_R(arm)).any():
            rate = rollout_mean(arm, truncation_R(arm), "truncation unknown")
            rows.append(arm_row(arm, rate, config, metric=TRUNCATED))
    for reading in (JUDGED, AS_WRONG, LEFT_OUT):
        found = {id(arm): _items(arm, reading, task.common_k) for arm in task.arms}
        for arm in task.arms:
            rows += [
                arm_row(arm, item, config, metric=metric, k=k, truncated=reading)
                for metric, k, item in found[id(arm)]
            ]
        for pair in task.pairs:
            sides = zip(found[id(pair.before)], found[id(pair.after)], strict=True)
            rows += [
                pair_row(pair, (a[2], b[2]), config, metric=a[0], k=a[1], truncated=reading)
                for a, b in sides
            ]
    return rows
