"""Trainability: which share of groups of G rollouts would carry a learning signal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, counts, finite_vector, row_prompts, whole
from rewardable.metrics.intervals import Interval, mean_interval
from rewardable.metrics.labels import count_labels
from rewardable.metrics.passk import by_unique
from rewardable.metrics.stopping import StoppingRule, checked_states, path_share
from rewardable.metrics.subsets import hit, miss


def trainability(
    n_P: ArrayLike, c_P: ArrayLike, group: int, rule: StoppingRule | None = None
) -> Floats:
    """Estimate the probability that a group of G rollouts shows reward variation, per prompt.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    group: G, at least 2.
    rule: how sampling was stopped; None means that n was fixed before sampling. A rule must draw
        at least G rollouts before its first look.

    Returns
    -------
    float64, shape [P]; NaN where n < G.

    Raises
    ------
    DataError: unusable counts, naming the rows.
    ConfigError: a group below 2, or a rule that may stop before G rollouts.

    What it measures
    ----------------
    The share of groups from which a group-relative method (GRPO, RLOO) learns anything. On future
    tasks it forecasts what RLVR can learn next.

    Estimand and assumptions
    ------------------------
    U_G = 1 - p^G - (1-p)^G per prompt, unbiased for G <= n: the share of G-subsets of the n rows
    that hold both a success and a failure. Average it over prompts.

    When it misleads
    ----------------
    Never compute it from the mean p: with half of the prompts at 0 and half at 1 it is 0, at the
    mean p = 0.5 it would be near 1. Variation is no quality: noise of a verifier also varies.

    Example
    -------
    >>> trainability([4, 4, 2], [2, 0, 1], 2).round(4)
    array([0.6667, 0.    , 1.    ])

    Source
    ------
    The frac_reward_zero_std counter of TRL, made an unbiased per-prompt estimate.
    """
    _check_group(group)
    if rule is None:
        n, c = counts(n_P, c_P)
        return by_unique(lambda n, c, k: hit(n, c, k) - miss(n, n - c, k), n, c, group)
    n, c = checked_states(rule, n_P, c_P)
    return 1.0 - path_share(rule, n, c, group, 0) - path_share(rule, n, c, 0, group)


def graded_trainability(
    scores_R: ArrayLike, prompt_R: ArrayLike, n_prompts: int, group: int
) -> Floats:
    """Estimate how often G graded rollouts do not all get the same score, per prompt.

    Parameters
    ----------
    scores_R: rewards, one a rollout, shape [R].
    prompt_R: index of each rollout's prompt, shape [R].
    n_prompts: P.
    group: G, at least 2.

    Returns
    -------
    float64, shape [P]; NaN where a prompt has fewer than G rows.

    Raises
    ------
    DataError: NaN scores or prompt indices outside 0..P-1, naming the rows.
    ConfigError: a group below 2.

    What it measures
    ----------------
    Trainability when the reward is not just 0 or 1.

    Estimand and assumptions
    ------------------------
    1 - sum over scores v of P(score = v)^G; unbiased for G <= n. Scores are compared exactly.

    When it misleads
    ----------------
    Scores that differ by rounding alone count as variation: round them first. A length bonus in
    the reward makes every group vary.

    Example
    -------
    >>> graded_trainability([0.0, 0.5, 0.5, 1.0], [0, 0, 0, 0], 1, 2).round(4)
    array([0.8333])

    Source
    ------
    As :func:`trainability`, over all scores.
    """
    _check_group(group)
    scores = finite_vector(scores_R, "scores_R")
    prompt = row_prompts(prompt_R, n_prompts, scores.size)
    codes = np.unique(scores, return_inverse=True)[1].reshape(-1).astype(np.int64)
    seen = count_labels(prompt, codes, n_prompts)
    n_P: Ints = np.bincount(prompt, minlength=n_prompts)
    n_L = n_P[seen.prompt_L]
    same_L = np.nan_to_num(miss(n_L, n_L - seen.count_L, np.full_like(n_L, group)))
    same_P = np.bincount(seen.prompt_L, weights=same_L, minlength=n_prompts)
    return np.where(n_P >= group, 1.0 - same_P, np.nan)


def useful_groups(
    trainability_P: ArrayLike,
    batch: int,
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Return how many of a batch's groups are expected to carry a learning signal.

    Parameters
    ----------
    trainability_P: what :func:`trainability` or :func:`graded_trainability` gave, shape [P].
    batch: prompts (groups) in one training batch.
    level, clusters: as in :func:`mean_interval`.

    Returns
    -------
    Interval of the expected number.

    Raises
    ------
    DataError: NaN values (prompts with fewer than G rollouts), naming the rows.
    ConfigError: a batch below 1.

    What it measures
    ----------------
    Of the groups that a training step pays for, how many it can learn from.

    Estimand and assumptions
    ------------------------
    batch x mean trainability over the population of prompts; batches draw prompts from the same
    population.

    When it misleads
    ----------------
    It is the expectation; a single batch varies around it. It holds for the policy that was
    sampled: training changes it from the first step.

    Example
    -------
    >>> round(useful_groups(np.full(30, 0.25), 32).mean, 6)
    8.0

    Source
    ------
    Linearity of expectation over :func:`trainability`.
    """
    whole(batch, "batch")
    share = mean_interval(trainability_P, level=level, clusters=clusters, bounds=(0.0, 1.0))
    return replace(share, mean=batch * share.mean, low=batch * share.low, high=batch * share.high)


def _check_group(group: int) -> None:
    if whole(group, "group") < 2:
        raise ConfigError(f"group must be at least 2 rollouts, got {group}.")
