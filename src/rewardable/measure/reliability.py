"""What is right every time, and what a vote makes of it: pass^k and maj@k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rewardable.measure.arms import Arm
from rewardable.measure.config import MeasureConfig
from rewardable.measure.counts import CORRECT, UNGRADED, Bools, Floats
from rewardable.measure.estimates import PerPrompt, counted
from rewardable.measure.quantities import FEW
from rewardable.measure.study import TaskStudy
from rewardable.metrics import LabelCounts, count_labels, maj_at_k, pass_at_k, pass_hat_k

ALL_RIGHT, MAJORITY = "pass^k", "maj@k"
ANSWER_KINDS = ("answer", "extracted")
"""Label kinds that hold the answer a rollout states, right or wrong."""

_EXACT_UP_TO = 12
_VOTES = 2_000_000
"""Rollouts that vote, over all random orders of an arm; between 8 and 256 orders."""


def all_right_curve(arm: Arm, ks: Sequence[int]) -> PerPrompt:
    """Estimate the probability that all of k rollouts are right (pass^k)."""
    return counted(arm, lambda c: pass_hat_k(c.n_P, c.c_P, list(ks)), undefined=FEW)


def answer_kind(task: TaskStudy) -> str:
    """Return the label kind that votes can be counted by in every arm; empty where there is none.

    A kind that only right rollouts carry is no vote.
    """
    for kind in ANSWER_KINDS:
        if all(_stated(arm, kind) for arm in task.arms):
            return kind
    return ""


def _stated(arm: Arm, kind: str) -> bool:
    if kind not in arm.samples.labels:
        return False
    wrong_R = arm.outcome_R == 0
    return not wrong_R.any() or bool((arm.samples.labels[kind][wrong_R] >= 0).any())


def majority_curve(arm: Arm, ks: Sequence[int], kind: str, config: MeasureConfig) -> PerPrompt:
    """Estimate how often the commonest answer among k is right; ties are split.

    Exact up to 12 rollouts a prompt; beyond over random subsets, seeded. Ungraded rollouts do not
    vote: the bounds take every subset that holds one as wrong, and as right.
    """
    answers, right_L = _answers(arm, kind)
    n_P = arm.counts.n_P
    draws = int(np.clip(_VOTES // max(int(n_P.sum()), 1), 8, 256))
    values = maj_at_k(
        answers, right_L, n_P, list(ks),
        draws=0 if n_P.max(initial=0) <= _EXACT_UP_TO else draws, seed=config.seed,
    )  # fmt: skip
    low, high = _bounds(arm, ks, values)
    return PerPrompt(
        values_PK=values, n_graded=arm.n_graded, n_ungraded=arm.n_ungraded, low_PK=low,
        high_PK=high, cluster_P=arm.cluster_P, undefined=FEW,
    )  # fmt: skip


def _bounds(
    arm: Arm, ks: Sequence[int], values: Floats
) -> tuple[Floats, Floats] | tuple[None, None]:
    if not arm.n_ungraded:
        return None, None
    n_P, u_P = arm.counts.n_P, arm.counts.u_P
    free = 1.0 - pass_at_k(n_P + u_P, u_P, list(ks))
    decided = np.where(free > 0, np.nan_to_num(values) * free, 0.0)
    low = np.where(np.isnan(free), np.nan, decided)
    return low, low + 1.0 - free


def _answers(arm: Arm, kind: str) -> tuple[LabelCounts, Bools]:
    """Count the stated answers of graded rollouts; an answer is right if most of its verdicts are.

    Rollouts that state none do not vote.
    """
    samples, outcome_R = arm.samples, arm.outcome_R
    keep_R = (outcome_R != UNGRADED) & (samples.labels[kind] >= 0)
    prompt_R, code_R = samples.prompt_R[keep_R], samples.labels[kind][keep_R].astype(np.int64)
    answers = count_labels(prompt_R, code_R, arm.n_prompts)
    pair_R = prompt_R.astype(np.int64) * (int(code_R.max(initial=0)) + 1) + code_R
    right_R = outcome_R[keep_R] == CORRECT
    place_R = np.unique(pair_R, return_inverse=True)[1].reshape(-1)
    votes_L = np.bincount(place_R[right_R], minlength=answers.count_L.size)
    return answers, 2 * votes_L > answers.count_L
