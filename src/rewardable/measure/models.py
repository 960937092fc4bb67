"""Table of models: budgets beyond n, and how many prompts lie near 0 and 1. Not measurements."""

from __future__ import annotations

import numpy as np

from rewardable.measure.arms import Arm
from rewardable.measure.estimates import estimate_of
from rewardable.measure.rows import row
from rewardable.measure.study import Study
from rewardable.metrics import Interval, Refits, end_masses, extrapolate, refit_mixture
from rewardable.results import Estimate, Row, Table

BEYOND, NEAR_ZERO, NEAR_ONE = "pass@k beyond n", "prompts near 0", "prompts near 1"
NPMLE = "npmle mixture"
TIMES = (2, 4)
DRAWS_PER_REFIT = 10
"""Each refit stands for so many draws of the other intervals: 200 at the usual 2000."""

LEAST = 20

NOTE = (
    "Models, not measurements: the distribution of p over prompts that fits the counts best "
    "(nonparametric, on a grid). Its pass@k beyond n says what would be if the model were right; "
    "the data are silent on p far below 1/n, so it can be too low or too high by more than its "
    "interval. The mass near an end is the share of prompts within the rate that 0 of n allows; "
    "how much of it is exactly 0 or 1 is not identified. Nothing is certified from these rows."
)


def models_table(study: Study) -> Table:
    """Extrapolated pass@k and the masses near 0 and 1 of every arm, labelled as a model."""
    rows = [row for task in study.tasks for arm in task.arms for row in _arm_rows(study, arm)]
    return Table(
        name="models",
        title="Beyond the data: models",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )


def _arm_rows(study: Study, arm: Arm) -> list[Row]:
    counts, level = arm.counts, study.config.level
    why = _too_few(arm)
    if why:
        return [_row(arm, Estimate(value=None, level=level, n_prompts=arm.n_prompts,
                                   n_graded=arm.n_graded, n_ungraded=arm.n_ungraded,
                                   warnings=(why,)), BEYOND, 0)]  # fmt: skip
    draws = max(study.config.draws // DRAWS_PER_REFIT, 20)
    refits = refit_mixture(
        counts.n_P, counts.c_P, seed=study.config.seed, draws=draws, clusters=arm.cluster_P
    )
    return [*_beyond(arm, refits, level), *_masses(arm, refits, level)]


def _too_few(arm: Arm) -> str:
    """Say why no model is fitted: with few informative prompts no bootstrap covers."""
    share_P = arm.counts.c_P / arm.counts.n_P
    moving = arm.n_prompts - int(np.unique(share_P, return_counts=True)[1].max())
    if moving >= LEAST:
        return ""
    return f"no value: only {moving} prompts differ from the commonest rate, a model needs {LEAST}"


def _beyond(arm: Arm, refits: Refits, level: float) -> list[Row]:
    counts = arm.counts
    ks = [times * int(counts.n_P.max()) for times in TIMES]
    band = extrapolate(counts.n_P, counts.c_P, ks, level=level, refits=refits)
    why = (f"a model, not a measurement: nobody drew more than {counts.n_P.max()} rollouts",)
    return [
        _row(arm, estimate_of(Interval(mean=float(mean), low=float(low), high=float(high),
                                       level=level, method=band.method, warnings=why), [arm]),
             BEYOND, k)
        for k, mean, low, high in zip(ks, band.mean_K, band.low_K, band.high_K, strict=True)
    ]  # fmt: skip


def _masses(arm: Arm, refits: Refits, level: float) -> list[Row]:
    counts = arm.counts
    found = end_masses(counts.n_P, counts.c_P, level=level, refits=refits)
    return [
        _row(arm, estimate_of(share, [arm]), metric, 0, edge=found.edge)
        for metric, share in ((NEAR_ZERO, found.near_zero), (NEAR_ONE, found.near_one))
    ]


def _row(arm: Arm, estimate: Estimate, metric: str, k: int, *, edge: float | None = None) -> Row:
    return row(arm.labels, estimate, metric=metric, model=NPMLE, k=k, edge=edge)
