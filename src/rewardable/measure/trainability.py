"""Table of trainability: what share of groups would show reward variation, on each task."""

from __future__ import annotations

from rewardable.measure.quantities import group_variation, variance_of_reward
from rewardable.measure.rows import arm_row, pair_row
from rewardable.measure.study import Study
from rewardable.results import Row, Table

TRAINABILITY, VARIANCE = "trainability", "reward variance"

NOTE = (
    "Trainability at G is the expected share of groups of G rollouts of one prompt that hold both "
    "a success and a failure: a group without variation gives GRPO no signal. On a task that has "
    "not been trained yet it forecasts how much of the batch that training could learn from at "
    "its start."
)


def trainability_table(study: Study) -> Table:
    """Trainability and reward variance of every arm and task, and their paired differences."""
    config, rows = study.config, list[Row]()
    for task in study.tasks:
        common = {"role": task.role, "group": config.group}
        for arm in task.arms:
            item = group_variation(arm, config.group)
            rows.append(arm_row(arm, item, config, metric=TRAINABILITY, **common))
            rows.append(arm_row(arm, variance_of_reward(arm), config, metric=VARIANCE, **common))
        for pair in task.pairs:
            sides = pair.before, pair.after
            groups = [group_variation(arm, config.group) for arm in sides]
            spread = [variance_of_reward(arm) for arm in sides]
            rows.append(pair_row(pair, groups, config, metric=TRAINABILITY, **common))
            rows.append(pair_row(pair, spread, config, metric=VARIANCE, **common))
    return Table(
        name="trainability",
        title="How much of a batch could teach",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )
