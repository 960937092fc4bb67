"""pass@k and pass^k: unbiased in counts, for every budget k up to n."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardable.metrics.checks import Floats, Ints, budgets, counts
from rewardable.metrics.stopping import StoppingRule, checked_states, path_share
from rewardable.metrics.subsets import hit, miss

Budgets = int | Sequence[int] | NDArray[Any]


def pass_at_k(
    n_P: ArrayLike, c_P: ArrayLike, k: Budgets, rule: StoppingRule | None = None
) -> Floats:
    """Estimate the probability that at least one of k rollouts succeeds, per prompt.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    k: budget in rollouts, one or a sequence of K of them.
    rule: how sampling was stopped; None means that n was fixed before sampling.

    Returns
    -------
    float64, shape [P] for one budget, [P, K] for a sequence; NaN (undefined) where n < k, under a
    stopping rule where its cap < k, or where it may give up before k.

    Raises
    ------
    DataError: c > n, negative, fractional, NaN or empty counts, final states that the stopping
        rule cannot end in; the message names the rows.
    ConfigError: a budget below 1.

    What it measures
    ----------------
    How often a prompt is solved when k rollouts are drawn and one success is enough.

    Estimand and assumptions
    ------------------------
    1 - (1-p)^k, where p is the prompt's success probability under one policy and one sampling
    specification. The rollouts are independent; n was fixed before sampling, or ``rule`` says
    when sampling stopped. Under "stop at r successes" the estimate of (1-p)^k at a stop after N
    rollouts is C(N-1-k, r-1) / C(N-1, r-1), and at the cap C(n-c, k) / C(n, k).

    When it misleads
    ----------------
    With k > n it is undefined, never 0 or 1. A stopping rule such as "until the first success"
    biases it when it is not passed as ``rule``. Truncated answers that count as wrong, and a
    success threshold that pays for wrong answers, move it without any change of the policy. An
    average over prompts with different n is an average only where every prompt is defined.

    Example
    -------
    >>> pass_at_k([8, 3], [2, 0], 5).round(6)
    array([0.892857,      nan])
    >>> pass_at_k([8], [2], [1, 2, 8]).round(4)
    array([[0.25  , 0.4643, 1.    ]])

    Source
    ------
    Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1; here in log
    space for all budgets at once.
    """
    if rule is None:
        n, c = counts(n_P, c_P)
        return by_unique(hit, n, c, k)
    n, c = checked_states(rule, n_P, c_P)
    return by_unique(lambda n, c, k: _stopped_hit(rule, n[:, 0], c[:, 0], k[0]), n, c, k)


def _stopped_hit(rule: StoppingRule, n_U: Ints, c_U: Ints, k_K: Ints) -> Floats:
    out = np.full((n_U.size, k_K.size), np.nan)
    for column, k in enumerate(k_K.tolist()):
        if k <= rule.widest:
            out[:, column] = 1.0 - path_share(rule, n_U, c_U, 0, k)
    return out


def pass_hat_k(
    n_P: ArrayLike, c_P: ArrayLike, k: Budgets, rule: StoppingRule | None = None
) -> Floats:
    """Estimate the probability that all of k rollouts succeed (pass^k), per prompt.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    k: number of rollouts that must all succeed, one or a sequence of K.
    rule: how sampling was stopped; None means that n was fixed before sampling.

    Returns
    -------
    float64, shape [P] or [P, K]; NaN where n < k, under a stopping rule where it may stop within k
    successes: k above both its first look and r - 1.

    Raises
    ------
    DataError: unusable counts, naming the rows.
    ConfigError: a budget below 1.

    What it measures
    ----------------
    Reliability: how often k independent attempts are all right.

    Estimand and assumptions
    ------------------------
    p^k per prompt; independent rollouts, n fixed before sampling. C(c, k) / C(n, k) is unbiased.

    When it misleads
    ----------------
    It rewards polarisation: at the same mean p, prompts pushed to 0 and 1 raise it. Never compute
    it from the mean p over prompts.

    Example
    -------
    >>> pass_hat_k([4], [3], [1, 2, 4]).round(4)
    array([[0.75, 0.5 , 0.  ]])

    Source
    ------
    Yao et al. 2024, "tau-bench", section 2 (pass^k).
    """
    if rule is not None:
        n, c = checked_states(rule, n_P, c_P)
        return by_unique(lambda n, c, k: _stopped_all(rule, n[:, 0], c[:, 0], k[0]), n, c, k)
    n, c = counts(n_P, c_P)
    return by_unique(lambda n, c, k: miss(n, n - c, k), n, c, k)


def _stopped_all(rule: StoppingRule, n_U: Ints, c_U: Ints, k_K: Ints) -> Floats:
    out = np.full((n_U.size, k_K.size), np.nan)
    for column, k in enumerate(k_K.tolist()):
        if k <= min(rule.cap, max(rule.first, rule.successes - 1)):
            out[:, column] = path_share(rule, n_U, c_U, k, 0)
    return out


def by_unique(value: Callable[[Ints, Ints, Ints], Floats], n: Ints, c: Ints, k: Budgets) -> Floats:
    """Evaluate ``value(n, c, k)`` once for every distinct (n, c): [P] or [P, K]."""
    k_K, scalar = budgets(k)
    pairs, inverse = unique_pairs(n, c)
    table = value(pairs[:, :1], pairs[:, 1:], k_K[None, :])
    return table[inverse, 0] if scalar else table[inverse]


def unique_pairs(n: Ints, c: Ints) -> tuple[Ints, Ints]:
    """Return the distinct (n, c) as [U, 2] and the row of each input in it."""
    base = int(n.max(initial=0)) + 1
    codes, inverse = np.unique(n * base + c, return_inverse=True)
    return np.stack([codes // base, codes % base], axis=1), inverse.reshape(-1)
