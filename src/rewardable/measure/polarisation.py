"""Table of polarisation: how far the prompts are pushed towards always and never."""

from __future__ import annotations

import numpy as np

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.estimates import estimate_of
from rewardable.measure.rows import certified, row
from rewardable.measure.study import Study
from rewardable.metrics import Interval, polarisation, polarisation_change
from rewardable.results import Row, Table

POLARISATION = "polarisation"

NOTE = (
    "Polarisation is 1 - E[p(1-p)] / (pbar (1-pbar)): 0 when all prompts are equally hard, 1 when "
    "every prompt is always or never solved. It rises when prompts become never-solved as much as "
    "when they become always-solved: read it beside pass@1 and the calls by prompt."
)


def polarisation_table(study: Study) -> Table:
    """Polarisation of every arm and its paired change."""
    rows: list[Row] = []
    for task in study.tasks:
        rows += [_arm_row(study, arm) for arm in task.arms]
        rows += [_pair_row(study, pair) for pair in task.pairs]
    return Table(
        name="polarisation",
        title="Always or never",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )


def _arm_row(study: Study, arm: Arm) -> Row:
    level = study.config.level
    found = _refused([arm], level)
    if found is None:
        counts = arm.counts
        found = polarisation(counts.n_P, counts.c_P, level=level, clusters=arm.cluster_P)
    return row(arm.labels, estimate_of(found, [arm]), metric=POLARISATION)


def _pair_row(study: Study, pair: Pair) -> Row:
    level, arms = study.config.level, (pair.before, pair.after)
    found = _refused(arms, level)
    if found is None:
        counts = (pair.before.counts, pair.after.counts)
        told = [part for side in counts for part in (side.n_P, side.c_P)]
        found = polarisation_change(*told, level=level, clusters=pair.before.cluster_P)
    estimate = estimate_of(found, arms)
    return row(pair.labels, estimate, metric=POLARISATION, certified=certified(estimate))


def _refused(arms: list[Arm] | tuple[Arm, ...], level: float) -> Interval | None:
    """Return why there is no value; None where there can be one."""
    short = max(int((arm.counts.n_P < 2).sum()) for arm in arms)
    if arms[0].n_prompts >= 2 and not short:
        return None
    why = "no value: polarisation needs at least 2 prompts"
    why = f"{why} with 2 graded rollouts each; {short} have fewer" if short else why
    return Interval(
        mean=np.nan, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
    )
