"""Table of trainability: what share of groups would show reward variation, on each task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rewardable.measure.arms import Arm
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.quantities import (
    group_variation,
    is_graded,
    score_variation,
    variance_of_reward,
)
from rewardable.measure.rows import arm_row, pair_row, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Estimate, Row, Table

TRAINABILITY, VARIANCE = "trainability", "reward variance"
GRADED, USEFUL = "trainability of scores", "useful groups"

NOTE = (
    "Trainability at G is the expected share of groups of G rollouts of one prompt that hold both "
    "a success and a failure: a group without variation gives GRPO no signal. On a task that has "
    "not been trained yet it forecasts how much of the batch that training could learn from at "
    "its start. Where scores are graded, the trainability of scores counts groups whose scores "
    "are not all equal. Useful groups: how many of a batch's groups are expected to vary, by the "
    "scores where these are graded."
)


def trainability_table(study: Study) -> Table:
    """Trainability, reward variance and useful groups of every arm and pair of every task."""
    config, rows = study.config, list[Row]()
    for task in study.tasks:
        common = {"role": task.role, "group": config.group}
        items = {id(arm): _items(task, arm, config.group) for arm in task.arms}
        for arm in task.arms:
            found = [arm_row(arm, item, config, metric=metric, **common)
                     for metric, item in items[id(arm)].items()]  # fmt: skip
            rows += [*found, *_useful(found, config.batch)]
        for pair in task.pairs:
            before, after = items[id(pair.before)], items[id(pair.after)]
            found = [pair_row(pair, (item, after[metric]), config, metric=metric, **common)
                     for metric, item in before.items()]  # fmt: skip
            rows += [*found, *_useful(found, config.batch)]
    return Table(
        name="trainability",
        title="How much of a batch could teach",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )


def _items(task: TaskStudy, arm: Arm, group: int) -> dict[str, PerPrompt]:
    found = {TRAINABILITY: group_variation(arm, group)}
    if any(is_graded(one) for one in task.arms):
        found[GRADED] = score_variation(arm, group)
    return {**found, VARIANCE: variance_of_reward(arm)}


def _useful(found: Sequence[Row], batch: int) -> list[Row]:
    """Scale the share of groups that vary to a batch; by scores where they are graded."""
    by_metric = {str(one.labels["metric"]): one for one in found}
    share = by_metric.get(GRADED, by_metric[TRAINABILITY])
    return [row({**share.labels, "metric": USEFUL, "batch": batch}, _times(share.estimate, batch))]


def _times(estimate: Estimate, batch: int) -> Estimate:
    def scaled(value: float | None) -> float | None:
        return None if value is None else batch * value

    return replace(
        estimate,
        value=scaled(estimate.value),
        low=scaled(estimate.low),
        high=scaled(estimate.high),
        bound_low=scaled(estimate.bound_low),
        bound_high=scaled(estimate.bound_high),
    )
