"""Tables of budgets (pass@k, support@k, solutions@k, best@k, pass^k, maj@k), and differences."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from rewardable.measure.arms import TEXT, Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.quantities import (
    any_success,
    best_curve,
    is_graded,
    pass_curve,
    solutions_curve,
)
from rewardable.measure.reliability import (
    ALL_RIGHT,
    MAJORITY,
    all_right_curve,
    answer_kind,
    majority_curve,
)
from rewardable.measure.rows import FALL, arm_curve, arm_row, pair_curve, pair_row, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.metrics import zero_bound
from rewardable.results import Estimate, Row, Table

PASS, SUPPORT, SOLUTIONS, BEST = "pass@k", "support@k", "solutions@k", "best@k"
SOLUTION = "solution"
ANY_SUCCESS, ZERO_BOUND = "prompts with any success", "rate that 0 of n allows"
CROSSING, FIRST_LOSS = "crossing", "first certified loss"

BAND_NOTE = (
    "Each curve has a simultaneous band (it covers the whole curve at the stated level) and a "
    "pointwise interval (it covers one budget). Calls use the simultaneous band."
)


def curves_table(study: Study) -> Table:
    """Every metric over budgets of every arm; prompts with any success."""
    rows = [row for task in study.tasks for arm in task.arms for row in _arm_rows(study, task, arm)]
    return Table(
        name="curves",
        title="What a budget of k samples reaches",
        rows=tuple(rows),
        notes=(BAND_NOTE,),
        provenance=study.provenance,
    )


def budget_metrics(
    task: TaskStudy, config: MeasureConfig, *arms: Arm
) -> list[tuple[str, str, list[PerPrompt]]]:
    """Return (metric, label kind or "", one item an arm) for the arms together."""
    ks, solution, answer = task.ks, solution_kind(task), answer_kind(task)
    graded = any(is_graded(arm) for arm in task.arms)
    wanted: list[tuple[str, str, Callable[[Arm], PerPrompt]]] = [
        (PASS, "", lambda arm: pass_curve(arm, ks)),
        (SUPPORT, "", lambda arm: pass_curve(arm, ks, total=True)),
    ]
    if solution:
        wanted.append((SOLUTIONS, solution, lambda arm: solutions_curve(arm, ks, solution)))
    if graded:
        wanted.append((BEST, "", lambda arm: best_curve(arm, ks)))
    wanted.append((ALL_RIGHT, "", lambda arm: all_right_curve(arm, ks)))
    if answer:
        wanted.append((MAJORITY, answer, lambda arm: majority_curve(arm, ks, answer, config)))
    return [
        (metric, kind, [_once(task, metric, arm, curve) for arm in arms])
        for metric, kind, curve in wanted
    ]


def _once(task: TaskStudy, metric: str, arm: Arm, curve: Callable[[Arm], PerPrompt]) -> PerPrompt:
    key = (metric, id(arm))
    if key not in task.memo:
        task.memo[key] = curve(arm)
    return task.memo[key]


def solution_kind(task: TaskStudy) -> str:
    """Return what tells solutions apart: their label where there is one, else the text.

    Empty when some arm has counts alone.
    """
    if any(arm.counts_only for arm in task.arms):
        return ""
    return SOLUTION if any(SOLUTION in arm.samples.labels for arm in task.arms) else TEXT


def _arm_rows(study: Study, task: TaskStudy, arm: Arm) -> list[Row]:
    rows: list[Row] = []
    for metric, kind, (item,) in budget_metrics(task, study.config, arm):
        rows += arm_curve(arm, item, task.ks, study.config, metric=metric, kind=kind)
    rows.append(arm_row(arm, any_success(arm), study.config, metric=ANY_SUCCESS))
    rows.append(row(arm.labels, _zero_bound(arm, study.config.level), metric=ZERO_BOUND))
    return rows


def _zero_bound(arm: Arm, level: float) -> Estimate:
    """Bound the success rate of a prompt without success; of the one with the fewest samples."""
    counts = arm.counts if arm.stopped is None else arm.stopped.counts
    empty_P = counts.c_P == 0
    common: dict[str, Any] = {
        "level": level,
        "n_prompts": int(empty_P.sum()),
        "n_graded": int(counts.n_P[empty_P].sum()),
        "n_ungraded": int(counts.u_P[empty_P].sum()),
        "method": "exact binomial bound (Clopper-Pearson)",
    }
    if not empty_P.any():
        return Estimate(value=None, warnings=("every prompt has a success",), **common)
    least = int(counts.n_P[empty_P].min())
    return Estimate(value=0.0, low=0.0, high=float(zero_bound(least, level)), **common)


def differences_table(study: Study) -> Table:
    """Paired differences over budgets, with the call at each, the crossing and the first loss."""
    rows: list[Row] = []
    for task in study.tasks:
        for pair in task.pairs:
            rows += _pair_rows(study, task, pair)
            before, after = any_success(pair.before), any_success(pair.after)
            rows.append(pair_row(pair, (before, after), study.config, metric=ANY_SUCCESS))
        for pair in task.cross_pairs:
            rows += _pair_rows(study, task, pair)
    return Table(
        name="differences",
        title="Paired differences, trained minus base",
        rows=tuple(rows),
        notes=(BAND_NOTE, "Differences are paired by prompt: after minus before."),
        provenance=study.provenance,
    )


def _pair_rows(study: Study, task: TaskStudy, pair: Pair) -> list[Row]:
    rows: list[Row] = []
    for metric, kind, items in budget_metrics(task, study.config, pair.before, pair.after):
        found = pair_curve(pair, items, task.ks, study.config, metric=metric, kind=kind)
        rows += found
        if metric in (PASS, SOLUTIONS):
            simultaneous = [item for item in found if item.labels["band"] == "simultaneous"]
            rows += _landmarks(pair, metric, kind, simultaneous)
    return rows


def _landmarks(pair: Pair, metric: str, kind: str, curve: list[Row]) -> list[Row]:
    """Find the first budget with a certified fall, and where the mean difference turns down."""
    losses = [item for item in curve if item.labels["certified"] == FALL]
    signs = [(item, (item.estimate.value or 0) < 0) for item in curve if item.estimate.value]
    turns = [after[0] for before, after in pairwise(signs)
             if not before[1] and after[1]]  # fmt: skip
    found = ((FIRST_LOSS, losses), (CROSSING, turns))
    return [
        row(
            pair.labels,
            Estimate(
                value=float(str(places[0].labels["k"])),
                method="smallest reported budget",
                n_prompts=places[0].estimate.n_prompts,
                n_graded=places[0].estimate.n_graded,
                n_ungraded=places[0].estimate.n_ungraded,
            ),
            metric=name,
            of=metric,
            kind=kind,
        )
        for name, places in found
        if places
    ]
