"""Table of shape: how varied and how long the outputs are, whatever their verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardable.measure.arms import Arm, Floats
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.quantities import distinct_outputs, rollout_mean
from rewardable.measure.rows import arm_row, pair_row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Row, Table

DISTINCT, FIRST_ENTROPY, MEAN_ENTROPY = "distinct outputs", "first-token entropy", "mean entropy"
LENGTH, TRUNCATED = "length", "truncation rate"
QUICK = 10
"""Rollouts of the quick collapse test (100 prompts x 10 generations)."""

UNITS: Mapping[str, str] = {
    DISTINCT: "texts",
    FIRST_ENTROPY: "nats",
    MEAN_ENTROPY: "nats a token",
    LENGTH: "tokens",
    TRUNCATED: "share",
}

NOTE = (
    "Every rollout counts here, graded or not. Entropies are of the full next-token distribution "
    "at temperature 1. A number of distinct outputs says something only beside the base's: on a "
    "task with few possible answers the start itself is low."
)


def shape_table(study: Study) -> Table:
    """Distinct outputs, entropies, length and truncation of every arm, and paired differences."""
    rows: list[Row] = []
    notes = [NOTE]
    for task in study.tasks:
        found = {id(arm): shape_items(task, arm) for arm in task.arms}
        for arm in task.arms:
            items = found[id(arm)]
            rows += [arm_row(arm, items[name], study.config, **_labels(*name)) for name in items]
        for pair in task.pairs:
            before, after = found[id(pair.before)], found[id(pair.after)]
            rows += [
                pair_row(pair, (before[name], after[name]), study.config, **_labels(*name))
                for name in before
                if name in after
            ]
        notes += _unknown(task, [name for items in found.values() for name, _ in items])
    return Table(
        name="shape",
        title="Diversity, entropy and length",
        rows=tuple(rows),
        notes=tuple(notes),
        provenance=study.provenance,
    )


def _labels(metric: str, k: int) -> dict[str, str | int]:
    return {"metric": metric, "k": k, "unit": UNITS[metric]}


def shape_items(task: TaskStudy, arm: Arm) -> dict[tuple[str, int], PerPrompt]:
    """Return (metric, k) -> item for what is known of the arm; k is 0 without a budget."""
    if arm.counts_only:
        return {}
    samples = arm.samples
    least = min(int(one.rollouts_P.min()) for one in task.arms)
    items = {(DISTINCT, k): distinct_outputs(arm, k) for k in sorted({min(QUICK, least), least})}
    known: Sequence[tuple[str, Floats]] = (
        (FIRST_ENTROPY, samples.first_entropy_R),
        (MEAN_ENTROPY, samples.mean_entropy_R),
        (LENGTH, np.where(samples.length_R < 0, np.nan, samples.length_R.astype(np.float64))),
        (TRUNCATED, truncation_R(arm)),
    )
    for metric, values_R in known:
        if np.isfinite(values_R).any():
            items[metric, 0] = rollout_mean(arm, values_R, f"{metric} unknown")
    return items


def truncation_R(arm: Arm) -> Floats:  # noqa: N802
    """1 where the token limit ended a rollout, 0 where an end did, NaN where nobody knows."""
    finish_R = arm.samples.finish_R
    return np.where(finish_R <= 1, (finish_R == 1).astype(np.float64), np.nan)


def _unknown(task: TaskStudy, known: Sequence[str]) -> list[str]:
    missing = [metric for metric in UNITS if metric not in known]
    return [f"{task.task}: the rollouts do not tell {', '.join(missing)}."] if missing else []
