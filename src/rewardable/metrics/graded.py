"""Graded scores: best@k without replacement and the reward variance of a prompt."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rewardable.metrics.checks import Floats, Ints, budgets, finite_vector, row_prompts
from rewardable.metrics.passk import Budgets
from rewardable.metrics.subsets import hit

_CHUNK = 1 << 20


def best_at_k(scores_R: ArrayLike, prompt_R: ArrayLike, n_prompts: int, k: Budgets) -> Floats:
    """Estimate the expected best score among k rollouts, per prompt.

    Parameters
    ----------
    scores_R: graded scores, one a rollout, shape [R], any finite numbers.
    prompt_R: index of each rollout's prompt, shape [R].
    n_prompts: P; prompts without rows give NaN.
    k: budget in rollouts, one or a sequence of K.

    Returns
    -------
    float64, shape [P] or [P, K]; NaN where a prompt has fewer than k scores.

    Raises
    ------
    DataError: NaN scores, prompt indices outside 0..P-1; the message names the rows.

    What it measures
    ----------------
    What a user gets who draws k rollouts and keeps the one with the highest score.

    Estimand and assumptions
    ------------------------
    E[max of k independent scores]. Subsets are drawn without replacement and averaged exactly, so
    the value is unbiased and at k = n it is the plain maximum.

    When it misleads
    ----------------
    Drawing with replacement (a common shortcut) gives 0.635 instead of 1 for one success in 64 at
    k = 64. With partial credit, a high best@k need not contain one correct answer.

    Example
    -------
    >>> best_at_k([0.0, 0.2, 0.5, 1.0], [0, 0, 0, 0], 1, [2, 3]).round(4)
    array([[0.7  , 0.875]])

    Source
    ------
    Order statistics of a sample without replacement: P(max <= x_(i)) = C(i, k) / C(n, k).
    """
    scores = finite_vector(scores_R, "scores_R")
    prompt = row_prompts(prompt_R, n_prompts, scores.size)
    k_K, scalar = budgets(k)
    order = np.lexsort((scores, prompt))
    scores, prompt = scores[order], prompt[order]
    n_P = np.bincount(prompt, minlength=n_prompts)
    out = _lowest(scores, n_P)[:, None] + _climb(scores, prompt, n_P, k_K)
    out[n_P[:, None] < k_K[None, :]] = np.nan
    return out[:, 0] if scalar else out


def _lowest(scores: Floats, n_P: Ints) -> Floats:
    start = np.concatenate([[0], np.cumsum(n_P)[:-1]])
    return np.where(n_P > 0, scores[np.minimum(start, scores.size - 1)], np.nan)


def _climb(scores: Floats, prompt: Ints, n_P: Ints, k_K: Ints) -> Floats:
    """Sum, over the steps between neighbouring scores, step x P(best of k is above it)."""
    start = np.cumsum(n_P) - n_P
    rank = np.arange(scores.size) - start[prompt]
    step = np.diff(scores, prepend=scores[0])
    rows = np.flatnonzero((rank > 0) & (step > 0))
    out = np.zeros((n_P.size, k_K.size))
    per_chunk = max(1, _CHUNK // k_K.size)
    for at in range(0, rows.size, per_chunk):
        part = rows[at : at + per_chunk]
        n = n_P[prompt[part]]
        above = hit(n[:, None], (n - rank[part])[:, None], k_K[None, :])
        np.add.at(out, prompt[part], np.nan_to_num(above) * step[part, None])
    return out


def reward_variance(scores_R: ArrayLike, prompt_R: ArrayLike, n_prompts: int) -> Floats:
    """Estimate the variance of the reward over rollouts, per prompt.

    Parameters
    ----------
    scores_R: rewards, one a rollout, shape [R] (0 and 1 for plain verdicts).
    prompt_R: index of each rollout's prompt, shape [R].
    n_prompts: P.

    Returns
    -------
    float64, shape [P]; NaN where a prompt has fewer than 2 rows.

    Raises
    ------
    DataError: NaN scores or prompt indices outside 0..P-1, naming the rows.

    What it measures
    ----------------
    How much signal a group of rollouts carries: group-relative advantages vanish with it.

    Estimand and assumptions
    ------------------------
    Var(reward) under the policy, p(1-p) for 0/1 rewards; divisor n - 1, hence unbiased for
    independent rollouts with fixed n.

    When it misleads
    ----------------
    Rare partial credit for wrong answers also makes variance. A mean over prompts says nothing of
    how many prompts have any: use :func:`trainability` for that.

    Example
    -------
    >>> reward_variance([0, 1, 1, 0, 1], [0, 0, 0, 0, 1], 2).round(4)
    array([0.3333,    nan])

    Source
    ------
    The unbiased sample variance; group-normalised advantages as in Shao et al. 2024 (GRPO).
    """
    scores = finite_vector(scores_R, "scores_R")
    prompt = row_prompts(prompt_R, n_prompts, scores.size)
    n_P = np.bincount(prompt, minlength=n_prompts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_P = np.bincount(prompt, weights=scores, minlength=n_prompts) / n_P
        square = (scores - mean_P[prompt]) ** 2
        total_P = np.bincount(prompt, weights=square, minlength=n_prompts)
        return np.where(n_P >= 2, total_P / (n_P - 1), np.nan)
