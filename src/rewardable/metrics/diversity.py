"""Diversity of outputs on integer codes: answers, n-grams of tokens. No text here."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, Ints, refuse, row_prompts, whole
from rewardable.metrics.labels import LabelCounts, count_labels


def answer_entropy(answers: LabelCounts, n_prompts: int) -> Floats:
    """Estimate the entropy of the answers in nats, per prompt.

    Parameters
    ----------
    answers: counts of every answer given.
    n_prompts: P.

    Returns
    -------
    float64, shape [P]; NaN for prompts without answers.

    Raises
    ------
    DataError: a prompt index >= P.

    What it measures
    ----------------
    How undecided the policy is about its final answer.

    Estimand and assumptions
    ------------------------
    -sum p log p over answers. Estimated by sum (x/n) (psi(n) - psi(x)), whose bias shrinks like
    (1-p)^n instead of like 1/n for the plug-in; it is never above the truth in expectation.

    When it misleads
    ----------------
    With many answers rarer than 1/n it stays too low: compare policies at equal n. Low entropy is
    no fault where the answer is right.

    Example
    -------
    >>> answers = LabelCounts(prompt_L=np.array([0, 0, 1]), count_L=np.array([2, 2, 4]))
    >>> answer_entropy(answers, 2).round(4)
    array([0.8333, 0.    ])

    Source
    ------
    Zhang 2012; the same sum opens the estimator of Chao, Wang and Jost 2013.
    """
    whole(n_prompts, "n_prompts")
    prompt, count = answers.prompt_L, answers.count_L
    refuse(prompt >= n_prompts, "prompt_L", prompt, f"in 0..{n_prompts - 1}")
    n_P = np.bincount(prompt, weights=count, minlength=n_prompts)
    n_L = n_P[prompt]
    part = count / n_L * (digamma(n_L) - digamma(count.astype(np.float64)))
    total = np.bincount(prompt, weights=part, minlength=n_prompts)
    return np.where(n_P > 0, total, np.nan)


def collision_probability(answers: LabelCounts, n_prompts: int) -> Floats:
    """Estimate the probability that two rollouts give the same answer, per prompt.

    Parameters
    ----------
    answers: counts of every answer (or text, or solution).
    n_prompts: P.

    Returns
    -------
    float64, shape [P]; NaN where a prompt has fewer than 2 rows.

    Raises
    ------
    DataError: a prompt index >= P.

    What it measures
    ----------------
    Concentration: 1 when all outputs are alike.

    Estimand and assumptions
    ------------------------
    sum p^2; sum x(x-1) / (n(n-1)) is unbiased at any n, so policies with different n compare.

    When it misleads
    ----------------
    It is ruled by the commonest answers and blind to the tail.

    Example
    -------
    >>> answers = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([2, 2]))
    >>> collision_probability(answers, 1).round(4)
    array([0.3333])

    Source
    ------
    Simpson 1949.
    """
    whole(n_prompts, "n_prompts")
    prompt, count = answers.prompt_L, answers.count_L
    refuse(prompt >= n_prompts, "prompt_L", prompt, f"in 0..{n_prompts - 1}")
    n_P = np.bincount(prompt, weights=count, minlength=n_prompts)
    same = np.bincount(prompt, weights=count * (count - 1.0), minlength=n_prompts)
    return np.where(n_P > 1, same / np.maximum(n_P * (n_P - 1), 1), np.nan)


def ngrams(tokens_T: ArrayLike, row_T: ArrayLike, order: int) -> tuple[Ints, Ints]:
    """Return a code for every n-gram of a token stream, and its row; none crosses a row's end.

    ``tokens_T`` are token ids (>= 0) of all rows one after the other, ``row_T`` the row of each
    token, not decreasing. Equal n-grams have equal codes. DataError for unusable streams.
    """
    whole(order, "order")
    tokens, row = np.asarray(tokens_T), np.asarray(row_T)
    if tokens.shape != row.shape or tokens.ndim != 1:
        raise DataError(f"tokens_T {tokens.shape} and row_T {row.shape} must be equal vectors.")
    if tokens.size and (tokens.dtype.kind not in "iu" or row.dtype.kind not in "iu"):
        raise DataError(f"tokens_T and row_T must be integers, got {tokens.dtype}, {row.dtype}.")
    refuse(np.diff(row, prepend=row[:1]) < 0, "row_T", row, "sorted, row after row")
    refuse(tokens < 0, "tokens_T", tokens, ">= 0")
    code = np.unique(tokens, return_inverse=True)[1].reshape(-1).astype(np.int64)
    alphabet = int(code.max(initial=0)) + 1
    single = code
    for step in range(1, order):
        joined = code[:-1] * alphabet + single[step:]
        code = np.unique(joined, return_inverse=True)[1].reshape(-1).astype(np.int64)
    first, last = row[: code.size], row[order - 1 :]
    whole_gram = first == last
    return code[whole_gram], first[whole_gram].astype(np.int64)


def ngram_repetition(tokens_T: ArrayLike, row_T: ArrayLike, n_rows: int, order: int = 4) -> Floats:
    """Return the share of n-grams of each row that occurred before in the same row.

    Parameters
    ----------
    tokens_T: token ids of all rows one after the other, shape [T].
    row_T: row of each token, not decreasing, shape [T].
    n_rows: R.
    order: n of the n-grams.

    Returns
    -------
    float64, shape [R]; NaN for rows shorter than ``order``.

    Raises
    ------
    DataError: an unsorted or negative stream, naming the tokens.

    What it measures
    ----------------
    Loops inside one output.

    Estimand and assumptions
    ------------------------
    1 - distinct / total n-grams of the row, a plain description of the row.

    When it misleads
    ----------------
    Long rows repeat more: compare at equal length. Tables and step lists repeat legitimately.

    Example
    -------
    >>> ngram_repetition([5, 6, 5, 6, 5, 6, 7], [0, 0, 0, 0, 0, 0, 1], 2, order=2)
    array([0.6, nan])

    Source
    ------
    Welleck et al. 2019 (seq-rep-n).
    """
    code, row = ngrams(tokens_T, row_T, order)
    return 1.0 - _distinct_share(code, row_prompts(row, n_rows, row.size), n_rows)


def distinct_n(
    tokens_T: ArrayLike, row_T: ArrayLike, prompt_R: ArrayLike, n_prompts: int, order: int = 2
) -> Floats:
    """Return distinct over all n-grams in the outputs of each prompt.

    Parameters
    ----------
    tokens_T: token ids of all rows one after the other, shape [T].
    row_T: row of each token, not decreasing, shape [T].
    prompt_R: prompt of each row, shape [R].
    n_prompts: P.
    order: n of the n-grams.

    Returns
    -------
    float64, shape [P]; NaN for prompts without an n-gram.

    Raises
    ------
    DataError: an unusable stream, naming the tokens.

    What it measures
    ----------------
    How much wording differs between the outputs of one prompt.

    Estimand and assumptions
    ------------------------
    A description of the outputs at hand, not of a population.

    When it misleads
    ----------------
    It falls with the number and the length of outputs: compare at equal numbers, or use
    :func:`adjusted_distinct_n`.

    Example
    -------
    >>> distinct_n([1, 2, 3, 1, 2, 3], [0, 0, 0, 1, 1, 1], [0, 0], 1)
    array([0.5])

    Source
    ------
    Li et al. 2016 (distinct-n).
    """
    code, prompt = _by_prompt(tokens_T, row_T, prompt_R, n_prompts, order)
    return _distinct_share(code, prompt, n_prompts)


def adjusted_distinct_n(
    tokens_T: ArrayLike,
    row_T: ArrayLike,
    prompt_R: ArrayLike,
    n_prompts: int,
    *,
    vocabulary: int,
    order: int = 2,
) -> Floats:
    """Return distinct n-grams over the number expected of uniform draws, per prompt.

    Parameters
    ----------
    tokens_T, row_T, prompt_R, n_prompts, order: as in :func:`distinct_n`.
    vocabulary: V, how many different n-grams are possible; the paper takes the token vocabulary.

    Returns
    -------
    float64, shape [P]; NaN for prompts without an n-gram.

    Raises
    ------
    DataError: an unusable stream. ConfigError: a vocabulary below 2.

    What it measures
    ----------------
    Distinct-n with the trivial effect of length taken out.

    Estimand and assumptions
    ------------------------
    N / (V (1 - ((V-1)/V)^C)) for N distinct among C n-grams.

    When it misleads
    ----------------
    Text is not uniform, so the correction is partial; V must be the same for all policies.

    Example
    -------
    >>> adjusted_distinct_n([1, 2, 1], [0, 0, 0], [0], 1, vocabulary=100, order=1).round(4)
    array([0.6734])

    Source
    ------
    Liu et al. 2022, "Rethinking and Refining the Distinct Metric" (EAD).
    """
    whole(vocabulary, "vocabulary", 2)
    code, prompt = _by_prompt(tokens_T, row_T, prompt_R, n_prompts, order)
    total = np.bincount(prompt, minlength=n_prompts).astype(np.float64)
    expected = -vocabulary * np.expm1(total * np.log1p(-1.0 / vocabulary))
    share = _distinct_share(code, prompt, n_prompts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return share * total / expected


def _by_prompt(
    tokens_T: ArrayLike, row_T: ArrayLike, prompt_R: ArrayLike, n_prompts: int, order: int
) -> tuple[Ints, Ints]:
    code, row = ngrams(tokens_T, row_T, order)
    owner = np.asarray(prompt_R)
    prompt_of = row_prompts(owner, n_prompts, owner.size)
    refuse(row >= owner.size, "row_T", row, f"in 0..{owner.size - 1}")
    return code, prompt_of[row]


def _distinct_share(code: Ints, group: Ints, n_groups: int) -> Floats:
    total = np.bincount(group, minlength=n_groups)
    seen = count_labels(group, code, n_groups)
    distinct = np.bincount(seen.prompt_L, minlength=n_groups)
    return np.where(total > 0, distinct / np.maximum(total, 1), np.nan)
