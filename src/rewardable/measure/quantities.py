"""The quantities of an arm: which metric, of which counts, undefined when. One function each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rewardable.measure.arms import Arm, Counts, Floats
from rewardable.measure.estimates import PerPrompt, all_rollouts, counted, stopped_counted
from rewardable.metrics import (
    LabelCounts,
    best_at_k,
    coverage,
    distinct_at_k,
    graded_trainability,
    pass_at_k,
    reward_variance,
    trainability,
)

FEW = "fewer graded rollouts than the budget"
PAST = "the stopping rule may end a prompt before the budget"


def pass_curve(
    arm: Arm, ks: Sequence[int], *, total: bool = False, counts: Counts | None = None
) -> PerPrompt:
    """pass@k of each prompt; as a total it is support@k, the expected prompts with a success.

    Its bounds include the prompts set aside because some arm has no graded rollout of them.
    """

    def metric(c: Counts) -> Floats:
        return pass_at_k(c.n_P, c.c_P, list(ks))

    if counts is None and arm.stopped is not None:
        rule = arm.stopped.rule
        return stopped_counted(
            arm, lambda c: pass_at_k(c.n_P, c.c_P, list(ks), rule), total=total, undefined=PAST
        )
    item = counted(arm, metric, total=total, undefined=FEW, counts=counts)
    aside = arm.aside
    if counts is not None or not len(aside.n_P):
        return item
    return replace(
        item,
        n_ungraded=item.n_ungraded + int(aside.u_P.sum()),
        aside_low_QK=np.nan_to_num(metric(aside.all_wrong), nan=0.0),
        aside_high_QK=np.nan_to_num(metric(aside.all_right), nan=1.0),
    )


def solutions_curve(arm: Arm, ks: Sequence[int], kind: str) -> PerPrompt:
    """Estimate the number of distinct rewarded solutions within k."""
    found = arm.successes(kind)
    values = distinct_at_k(found, arm.counts.n_P, list(ks))
    if not arm.n_ungraded:
        return PerPrompt(values_PK=values, n_graded=arm.n_graded, cluster_P=arm.cluster_P,
                         undefined=FEW)  # fmt: skip
    low, more = _label_bounds(arm, ks, found)
    return PerPrompt(
        values_PK=values, n_graded=arm.n_graded, n_ungraded=arm.n_ungraded, low_PK=low,
        high_PK=low + more, cluster_P=arm.cluster_P, undefined=FEW,
    )  # fmt: skip


def _label_bounds(arm: Arm, ks: Sequence[int], found: LabelCounts) -> tuple[Floats, Floats]:
    """All ungraded wrong; and what they could add at most: each a solution of its own."""
    all_wrong = arm.counts.all_wrong
    low = distinct_at_k(found, all_wrong.n_P, list(ks))
    share_P = arm.counts.u_P / all_wrong.n_P
    more = np.asarray(ks, dtype=np.float64)[None, :] * share_P[:, None]
    return low, np.where(np.isnan(low), np.nan, more)


def coverage_curve(arm: Arm, ks: Sequence[int], kind: str) -> PerPrompt:
    """Estimate the share of the existing labels of ``kind`` found among successes within k."""
    found, totals_P = arm.successes(kind), arm.samples.totals[kind]
    undefined = f"the number of labels {kind!r} that exist is unknown or 0"
    values = coverage(found, totals_P, arm.counts.n_P, list(ks))
    if not arm.n_ungraded:
        return PerPrompt(values_PK=values, n_graded=arm.n_graded, cluster_P=arm.cluster_P,
                         undefined=undefined)  # fmt: skip
    _, more = _label_bounds(arm, ks, found)
    low = coverage(found, totals_P, arm.counts.all_wrong.n_P, list(ks))
    high = np.minimum(1.0, low + more / np.maximum(totals_P, 1)[:, None])
    return PerPrompt(
        values_PK=values, n_graded=arm.n_graded, n_ungraded=arm.n_ungraded, low_PK=low,
        high_PK=high, cluster_P=arm.cluster_P, undefined=undefined,
    )  # fmt: skip


def scores_of(arm: Arm) -> Floats:
    """Scores of graded rollouts, the outcome where the verifier gave none; NaN when ungraded."""
    return arm.scores_R


def is_graded(arm: Arm) -> bool:
    """Whether the scores say more than the outcomes."""
    return arm.graded_scores


def _of_scores(arm: Arm, metric: str, ks: Sequence[int]) -> PerPrompt:
    prompt_R, scores_R = arm.samples.prompt_R, scores_of(arm)

    def value(filled_R: Floats) -> Floats:
        keep_R = ~np.isnan(filled_R)
        rows = filled_R[keep_R], prompt_R[keep_R], arm.n_prompts
        found = best_at_k(*rows, list(ks)) if metric == "best@k" else reward_variance(*rows)
        return found if found.ndim == 2 else found[:, None]

    low = high = None
    if arm.n_ungraded:
        ends = [value(np.where(np.isnan(scores_R), fill, scores_R)) for fill in (0.0, 1.0)]
        low, high = np.minimum(*ends), np.maximum(*ends)
    return PerPrompt(
        values_PK=value(scores_R), n_graded=arm.n_graded, n_ungraded=arm.n_ungraded, low_PK=low,
        high_PK=high, cluster_P=arm.cluster_P, undefined=FEW,
    )  # fmt: skip


def best_curve(arm: Arm, ks: Sequence[int]) -> PerPrompt:
    """Estimate the best score within k."""
    return _of_scores(arm, "best@k", ks)


def variance_of_reward(arm: Arm) -> PerPrompt:
    """Unbiased variance of the reward of each prompt."""
    return _of_scores(arm, "reward variance", ())


def group_variation(arm: Arm, group: int) -> PerPrompt:
    """Estimate the share of groups of ``group`` that hold both a success and a failure."""
    stopped = arm.stopped
    if stopped is not None:
        return stopped_counted(arm, lambda c: trainability(c.n_P, c.c_P, group, stopped.rule))
    return counted(
        arm,
        lambda c: trainability(c.n_P, c.c_P, group),
        undefined=f"fewer than {group} graded rollouts",
    )


def score_variation(arm: Arm, group: int) -> PerPrompt:
    """Estimate the share of groups of ``group`` whose scores are not all equal.

    No bounds for ungraded rollouts, whose scores could be anything.
    """
    prompt_R, scores_R = arm.samples.prompt_R, scores_of(arm)
    keep_R = ~np.isnan(scores_R)
    values = graded_trainability(scores_R[keep_R], prompt_R[keep_R], arm.n_prompts, group)
    return PerPrompt(
        values_PK=values[:, None], n_graded=arm.n_graded, cluster_P=arm.cluster_P,
        undefined=f"fewer than {group} graded rollouts",
    )  # fmt: skip


def any_success(arm: Arm) -> PerPrompt:
    """Whether a prompt has a success among all its graded rollouts, as a total."""
    return counted(arm, lambda c: (c.c_P > 0).astype(np.float64), total=True)


def distinct_outputs(arm: Arm, k: int) -> PerPrompt:
    """Estimate the number of distinct texts within k rollouts."""
    values = distinct_at_k(arm.texts, arm.rollouts_P, [k])
    return all_rollouts(arm, values, undefined=f"fewer than {k} rollouts")


def rollout_mean(arm: Arm, values_R: Floats, undefined: str) -> PerPrompt:
    """Mean over a prompt's rollouts of a per-rollout number; NaN rows are left out."""
    keep_R = ~np.isnan(values_R)
    prompt_R = arm.samples.prompt_R[keep_R]
    sums = np.bincount(prompt_R, weights=values_R[keep_R], minlength=arm.n_prompts)
    sizes = np.bincount(prompt_R, minlength=arm.n_prompts)
    values = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)
    return all_rollouts(arm, values, undefined=undefined)
