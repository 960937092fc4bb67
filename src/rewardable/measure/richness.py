"""Table of richness: diversity among right answers, and how many exist at the least."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rewardable.measure.arms import Arm
from rewardable.measure.counts import Floats, Ints
from rewardable.measure.coverage import coverage_kinds
from rewardable.measure.curves import solution_kind
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.rows import arm_row, pair_row, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.metrics import LabelCounts, chao1, rarefied_coverage, unseen_mass
from rewardable.results import Estimate, Label, Row, Table

EQUAL, DISTINCT_SHARE = "coverage at equal successes", "distinct share at equal successes"
LEAST_EXIST, UNSEEN, SEEN = "exist at the least (Chao1)", "unseen mass (Good-Turing)", "seen"
SUCCESSES = (2, 4, 8, 16, 32, 64)
LEAST_KEPT = 5

NOTES = (
    "At equal successes: of each prompt m successes of every policy are looked at, so that a "
    "policy gains nothing by being right more often. Only prompts on which every policy has m "
    "successes are left, the easy ones; how many drop out stands beside each figure. Coverage is "
    "the share of the existing labels among m successes; where nobody knows what exists, the "
    "share of the m that are distinct.",
    "Where the existing solutions are unknown: Chao1 is a lower bound for how many there are (a "
    "tail of many very rare ones stays invisible), and the unseen mass is the probability that the "
    "next success shows a new one, a probability and no number. Both depend on how many successes "
    "were seen, so policies are not subtracted.",
)


def richness_table(study: Study) -> Table:
    """Coverage at equal successes, per arm and paired; richness where totals are unknown."""
    rows: list[Row] = []
    for task in study.tasks:
        for kind, metric in _kinds(task):
            rows += _rarefied(study, task, kind, metric)
            if metric == DISTINCT_SHARE:
                rows += [found for arm in task.arms for found in _richness(study, arm, kind)]
    return Table(
        name="richness",
        title="Diversity of right answers",
        rows=tuple(rows),
        notes=NOTES if rows else (),
        provenance=study.provenance,
    )


def _kinds(task: TaskStudy) -> Iterator[tuple[str, str]]:
    known = coverage_kinds(task)
    for kind in known:
        yield kind, EQUAL
    kind = solution_kind(task)
    if kind and kind not in known:
        yield kind, DISTINCT_SHARE


def _rarefied(study: Study, task: TaskStudy, kind: str, metric: str) -> list[Row]:
    labels_A = [arm.successes(kind) for arm in task.arms]
    c_AP = np.stack([_labelled(found, arm) for found, arm in zip(labels_A, task.arms, strict=True)])
    totals = task.arms[0].samples.totals.get(kind) if metric == EQUAL else None
    rows: list[Row] = []
    for m in SUCCESSES:
        full_P = np.full(c_AP.shape[1], float(m)) if totals is None else totals
        found = rarefied_coverage(labels_A, c_AP, full_P, m)
        if found.kept < LEAST_KEPT:
            break
        why = f"some policy has fewer than {m} successes"
        why += "" if totals is None else ", or the total is unknown"
        labels: dict[str, Label] = {"metric": metric, "kind": kind, "successes": m}
        labels |= {"kept": found.kept, "dropped": found.dropped}
        items = {
            id(arm): _item(arm, value_P, why)
            for arm, value_P in zip(task.arms, found.value_AP, strict=True)
        }
        rows += [arm_row(arm, items[id(arm)], study.config, **labels) for arm in task.arms]
        for pair in task.pairs:
            sides = items[id(pair.before)], items[id(pair.after)]
            rows.append(pair_row(pair, sides, study.config, **labels))
    return rows


def _labelled(found: LabelCounts, arm: Arm) -> Ints:
    """Count the successes of each prompt that carry a label."""
    held = np.bincount(found.prompt_L, weights=found.count_L, minlength=arm.n_prompts)
    return held.astype(np.int64)


def _item(arm: Arm, value_P: Floats, undefined: str) -> PerPrompt:
    return PerPrompt(
        values_PK=value_P[:, None], n_graded=arm.n_graded, cluster_P=arm.cluster_P,
        undefined=undefined,
    )  # fmt: skip


def _richness(study: Study, arm: Arm, kind: str) -> list[Row]:
    """Mean over prompts with a success of labels seen, Chao1 and the unseen mass."""
    found = arm.successes(kind)
    n_P = _labelled(found, arm)
    if not n_P.any():
        nothing = Estimate(
            value=None,
            n_prompts=arm.n_prompts,
            n_graded=arm.n_graded,
            n_ungraded=arm.n_ungraded,
            warnings=("no value: no success",),
        )
        return [row(arm.labels, nothing, metric=LEAST_EXIST, kind=kind)]
    rich = chao1(found, n_P)
    known: Sequence[tuple[str, Floats]] = (
        (SEEN, rich.seen_P),
        (LEAST_EXIST, rich.least_P),
        (UNSEEN, unseen_mass(found, n_P)),
    )
    return [
        arm_row(arm, _item(arm, np.where(n_P > 0, value_P, np.nan), "no success"), study.config,
                metric=metric, kind=kind)
        for metric, value_P in known
    ]  # fmt: skip
