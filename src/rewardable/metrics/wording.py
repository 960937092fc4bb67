"""Distinct n-grams at any number of outputs, from counts that are small enough to be stored.

How many n-grams occur in exactly j of a prompt's n outputs, for every j, is all that is needed to
say how many distinct ones k of the outputs hold on average; the n-grams themselves are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, Ints, refuse, row_prompts, whole, whole_numbers
from rewardable.metrics.diversity import ngrams
from rewardable.metrics.subsets import hit


@dataclass(frozen=True, kw_only=True, eq=False)
class GramCounts:
    """N-grams of one order in the outputs of P prompts, S entries.

    prompt_S, seen_S, number_S: ``number`` n-grams occur in exactly ``seen`` outputs of ``prompt``.
    total_P: all n-grams of a prompt's outputs, repetitions included.

    Raises DataError for entries that cannot be, naming the rows.
    """

    prompt_S: NDArray[np.int64]
    seen_S: NDArray[np.int64]
    number_S: NDArray[np.int64]
    total_P: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Refuse unusable entries."""
        total = whole_numbers(self.total_P, "total_P")
        prompt = row_prompts(self.prompt_S, total.size, np.size(self.prompt_S))
        seen, number = (np.asarray(part, np.int64) for part in (self.seen_S, self.number_S))
        if not prompt.shape == seen.shape == number.shape:
            raise DataError(f"prompt_S {prompt.shape}, seen_S {seen.shape} and number_S "
                            f"{number.shape} must be equal vectors.")  # fmt: skip
        refuse(seen < 1, "seen_S", seen, ">= 1 (leave unseen n-grams out)")
        refuse(number < 1, "number_S", number, ">= 1")
        held = np.bincount(prompt, weights=seen * number, minlength=total.size)
        refuse(held > total, "total_P", total, "at least the n-grams counted in the outputs")
        told = {"prompt_S": prompt, "seen_S": seen, "number_S": number, "total_P": total}
        for name, value in told.items():
            object.__setattr__(self, name, value)


def count_grams(tokens_T: ArrayLike, row_T: ArrayLike, order: int) -> tuple[Ints, Ints, int]:
    """Count the n-grams of one prompt's outputs: (seen, number) and all n-grams.

    ``tokens_T`` and ``row_T`` as for :func:`ngram_repetition`, rows being outputs. DataError for
    unusable streams.
    """
    code, row = ngrams(tokens_T, row_T, order)
    if not code.size:
        return code, code, 0
    key = np.unique(code * (int(row.max()) + 1) + row)
    outputs = np.bincount(key // (int(row.max()) + 1))
    number = np.bincount(outputs)
    seen = np.flatnonzero(number[1:]) + 1
    return seen, number[seen], int(code.size)


def distinct_n_at_k(grams: GramCounts, n_P: ArrayLike, k: int) -> Floats:
    """Estimate distinct over all n-grams in k outputs of each prompt.

    Parameters
    ----------
    grams: counts of the n-grams of one order.
    n_P: outputs that were counted, per prompt, shape [P].
    k: outputs to be compared at, the same for every policy.

    Returns
    -------
    float64, shape [P]; NaN where n < k and for prompts without an n-gram.

    Raises
    ------
    DataError: an n-gram in more outputs than there are, naming the rows.

    What it measures
    ----------------
    How much wording differs between the outputs of one prompt, at equal numbers of outputs.

    Estimand and assumptions
    ------------------------
    Distinct n-grams expected in k random ones of the n outputs, over all n-grams expected. Both
    are unbiased for any n >= k; their ratio is one of expectations. At k = n it is
    :func:`distinct_n`.

    When it misleads
    ----------------
    Longer outputs repeat words in any language: see :func:`adjusted_distinct_n_at_k`.

    Example
    -------
    >>> seen, number, total = count_grams([1, 2, 1, 3], [0, 0, 1, 1], 1)
    >>> grams = GramCounts(prompt_S=[0, 0], seen_S=seen, number_S=number, total_P=[total])
    >>> distinct_n_at_k(grams, [2], 1), distinct_n_at_k(grams, [2], 2)
    (array([1.]), array([0.75]))

    Source
    ------
    Li et al. 2016 (distinct-n); Hurlbert 1971 for the expectation at a smaller number.
    """
    distinct, total = _expected(grams, n_P, k)
    with np.errstate(invalid="ignore", divide="ignore"):
        return distinct / total


def adjusted_distinct_n_at_k(
    grams: GramCounts, n_P: ArrayLike, k: int, *, vocabulary: int
) -> Floats:
    """Estimate distinct n-grams in k outputs over the number expected of uniform draws.

    Parameters
    ----------
    grams, n_P, k: as in :func:`distinct_n_at_k`.
    vocabulary: V, how many different n-grams are possible; the same for all policies.

    Returns
    -------
    float64, shape [P]; NaN where n < k and for prompts without an n-gram.

    Raises
    ------
    DataError: an n-gram in more outputs than there are. ConfigError: a vocabulary below 2.

    What it measures
    ----------------
    Distinct-n with the trivial effect of length taken out, at equal numbers of outputs.

    Estimand and assumptions
    ------------------------
    N / (V (1 - ((V-1)/V)^C)) for N distinct among C n-grams, both as expected in k outputs. At
    k = n it is :func:`adjusted_distinct_n`.

    When it misleads
    ----------------
    Text is not uniform, so the correction is partial; a V far above C leaves distinct-n as it is.

    Example
    -------
    >>> seen, number, total = count_grams([1, 2, 1], [0, 0, 0], 1)
    >>> grams = GramCounts(prompt_S=[0], seen_S=seen, number_S=number, total_P=[total])
    >>> adjusted_distinct_n_at_k(grams, [1], 1, vocabulary=100).round(4)
    array([0.6734])

    Source
    ------
    Liu et al. 2022, "Rethinking and Refining the Distinct Metric" (EAD).
    """
    whole(vocabulary, "vocabulary", 2)
    distinct, total = _expected(grams, n_P, k)
    expected = -vocabulary * np.expm1(total * np.log1p(-1.0 / vocabulary))
    with np.errstate(invalid="ignore", divide="ignore"):
        return distinct / expected


def _expected(grams: GramCounts, n_P: ArrayLike, k: int) -> tuple[Floats, Floats]:
    """Return the distinct and all n-grams expected in k outputs; NaN where n < k."""
    whole(k, "k")
    n = whole_numbers(n_P, "n_P")
    if n.shape != grams.total_P.shape:
        raise DataError(f"n_P has {n.size} rows, total_P has {grams.total_P.size}; pair them.")
    n_S = n[grams.prompt_S]
    refuse(grams.seen_S > n_S, "seen_S", grams.seen_S, "at most the outputs of the prompt")
    found_S = np.nan_to_num(hit(n_S, grams.seen_S, np.full_like(n_S, k))) * grams.number_S
    distinct = np.bincount(grams.prompt_S, weights=found_S, minlength=n.size)
    enough = n >= k
    share = np.where(enough, k / np.maximum(n, 1), np.nan)
    return np.where(enough, distinct, np.nan), grams.total_P.astype(np.float64) * share


def row_quantiles(values_R: ArrayLike, prompt_R: ArrayLike, n_prompts: int, q: float) -> Floats:
    """Return the q-quantile of each prompt's rows: the least value with a share q at or below it.

    NaN rows are left out; NaN for prompts without a row. DataError for rows that do not pair.
    """
    values = np.asarray(values_R, dtype=np.float64)
    prompt = row_prompts(prompt_R, n_prompts, values.size)
    keep = ~np.isnan(values)
    values, prompt = values[keep], prompt[keep]
    values = values[np.lexsort((values, prompt))]
    n = np.bincount(prompt, minlength=n_prompts)
    place = np.cumsum(n) - n + np.maximum(np.ceil(q * n - 1e-9).astype(np.int64), 1) - 1
    out = np.full(n_prompts, np.nan)
    out[n > 0] = values[place[n > 0]]
    return out
