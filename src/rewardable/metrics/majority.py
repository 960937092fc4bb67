"""maj@k: the exact expectation of a majority vote over subsets of the rollouts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom

from rewardable.errors import ConfigError, DataError
from rewardable.metrics.checks import Floats, Ints, budgets, refuse, whole, whole_numbers
from rewardable.metrics.labels import LabelCounts
from rewardable.metrics.passk import Budgets
from rewardable.metrics.votes import sampled_votes

TieRule = Literal["split", "wrong"]


def maj_at_k(
    answers: LabelCounts,
    correct_L: ArrayLike,
    n_P: ArrayLike,
    k: Budgets,
    *,
    ties: TieRule = "split",
    draws: int = 0,
    seed: int = 0,
) -> Floats:
    """Estimate how often the commonest answer among k rollouts is correct, per prompt.

    Parameters
    ----------
    answers: counts of every answer that was given, right or wrong.
    correct_L: which of these answers are correct, bool, shape [L].
    n_P: all graded rollouts per prompt, shape [P]; rows without an answer do not vote.
    k: rollouts that vote, one or a sequence of K.
    ties: "split" draws one of the commonest answers at random; "wrong" counts every tie between
        different answers as a failure.
    draws: 0 averages over all k-subsets exactly; else over this many random ones (for n beyond
        about 16 the exact sum is slow).
    seed: of the random subsets.

    Returns
    -------
    float64, shape [P] or [P, K]; NaN where n < k.

    Raises
    ------
    DataError: more answers than rollouts, correct_L of another length; names the rows.
    ConfigError: an unknown tie rule, negative draws.

    What it measures
    ----------------
    What self-consistency (majority voting) at k gains.

    Estimand and assumptions
    ------------------------
    The probability that a vote of k independent rollouts is right; the average over all k-subsets
    of the n rows, computed exactly by convolution, hence unbiased; over random subsets it stays
    unbiased. Equivalent answers carry one label.

    When it misleads
    ----------------
    Without a tie rule small k means little (k = 2 is all ties). When one answer appears under two
    labels its votes split.

    Example
    -------
    >>> answers = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([3, 2]))
    >>> maj_at_k(answers, [True, False], [5], [1, 2, 3]).round(4)
    array([[0.6, 0.6, 0.7]])

    Source
    ------
    Wang et al. 2022 (self-consistency); expectation without replacement, exact.
    """
    n = whole_numbers(n_P, "n_P")
    correct = np.asarray(correct_L)
    if correct.shape != answers.count_L.shape or correct.dtype != bool:
        raise DataError(f"correct_L must be {answers.count_L.size} booleans, one an answer.")
    if ties not in ("split", "wrong"):
        raise ConfigError(f"ties must be 'split' or 'wrong', got {ties!r}.")
    refuse(answers.prompt_L >= n.size, "prompt_L", answers.prompt_L, f"in 0..{n.size - 1}")
    given = np.bincount(answers.prompt_L, weights=answers.count_L, minlength=n.size)
    refuse(given > n, "n_P", n, "at least the answers given")
    k_K, scalar = budgets(k)
    if whole(draws, "draws", 0):
        out = sampled_votes(answers, correct, n, k_K, split=ties == "split", draws=draws, seed=seed)
    else:
        out = _exact(answers, correct, n, k_K, ties)
    return out[:, 0] if scalar else out


def _exact(
    answers: LabelCounts, correct: NDArray[np.bool_], n: Ints, k_K: Ints, ties: TieRule
) -> Floats:
    """Average over all subsets; prompts with the same pattern of votes share the work."""
    order = np.lexsort((answers.count_L, correct, answers.prompt_L))
    count, right = answers.count_L[order], correct[order]
    ends = np.searchsorted(answers.prompt_L[order], np.arange(n.size + 1))
    known: dict[tuple[int, bytes, bytes], list[float]] = {}
    rows: list[list[float]] = []
    for size, begin, end in zip(n.tolist(), ends[:-1], ends[1:], strict=True):
        own, good = count[begin:end], right[begin:end]
        pattern = (size, own.tobytes(), good.tobytes())
        if pattern not in known:
            known[pattern] = _one_prompt(own, good, size, k_K, ties)
        rows.append(known[pattern])
    return np.array(rows)


def _one_prompt(
    count: Ints, right: NDArray[np.bool_], n: int, k_K: Ints, ties: TieRule
) -> list[float]:
    if not right.any():
        return [0.0 if k <= n else np.nan for k in k_K]
    if right.all() and count.sum() == n and count.size == 1:
        return [1.0 if k <= n else np.nan for k in k_K]
    return [_vote(count, right, n, int(k), ties) if k <= n else np.nan for k in k_K]


def _vote(count: Ints, right: NDArray[np.bool_], n: int, k: int, ties: TieRule) -> float:
    """Sum over right answers and their votes j: P(j votes, no answer above j) x tie share."""
    rate = k / n if k < n else 0.5
    total = float(binom.pmf(k, n, rate)) if k < n else 0.5**n
    silent = binom.pmf(np.arange(k + 1), n - count.sum(), rate)
    nodes, weights = _tie_quadrature(count.size, ties)
    won = 0.0
    for own in np.flatnonzero(right):
        others = np.delete(count, own)
        for j in range(1, min(int(count[own]), k) + 1):
            chance = float(binom.pmf(j, count[own], rate))
            for y, weight in zip(nodes, weights, strict=True):
                won += chance * weight * _ways(others, silent, j, k - j, rate, y)
    return min(won / total, 1.0)


def _ways(others: Ints, silent: Floats, j: int, rest: int, rate: float, y: float) -> float:
    """Return P(others and silent rows take ``rest`` votes, none above j), ties weighted by y."""
    mass = silent[: rest + 1].copy()
    for size in others:
        top = min(int(size), j, rest)
        votes = binom.pmf(np.arange(top + 1), size, rate)
        if top == j:
            votes[j] *= y
        mass = np.convolve(mass, votes)[: rest + 1]
    return float(mass[rest]) if mass.size > rest else 0.0


def _tie_quadrature(answers: int, ties: TieRule) -> tuple[Floats, Floats]:
    """Nodes whose weighted sum of y^t is 1/(t+1) (the share of a t-fold tie), or 1 at t = 0."""
    if ties == "wrong":
        return np.zeros(1), np.ones(1)
    node, weight = np.polynomial.legendre.leggauss(answers // 2 + 1)
    return (node + 1) / 2, weight / 2
