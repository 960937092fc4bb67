"""Distinct labels (solutions, families, texts) within a budget, and coverage of known totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from rewardable.errors import DataError
from rewardable.metrics.checks import (
    Floats,
    Ints,
    budgets,
    refuse,
    row_prompts,
    vector,
    whole_numbers,
)
from rewardable.metrics.passk import Budgets, unique_pairs
from rewardable.metrics.subsets import hit

_CHUNK = 1 << 22


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelCounts:
    """How often each label was seen: one entry per (prompt, label) that was seen at all.

    prompt_L: index of the prompt, shape [L].
    count_L: rows of that prompt that carry the label, shape [L], all > 0.

    Raises DataError for counts below 1 or arrays of different length, naming the rows.
    """

    prompt_L: NDArray[np.int64]
    count_L: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Refuse unusable entries."""
        prompt, count = (np.asarray(part) for part in (self.prompt_L, self.count_L))
        if prompt.shape != count.shape or prompt.ndim != 1:
            raise DataError(f"prompt_L {prompt.shape} and count_L {count.shape} must be vectors.")
        if count.size and (count.dtype.kind not in "iu" or prompt.dtype.kind not in "iu"):
            raise DataError(f"prompt_L and count_L must be integers, got {count.dtype}.")
        refuse(count < 1, "count_L", count, ">= 1 (leave unseen labels out)")
        refuse(prompt < 0, "prompt_L", prompt, ">= 0")
        object.__setattr__(self, "prompt_L", prompt.astype(np.int64))
        object.__setattr__(self, "count_L", count.astype(np.int64))


def count_labels(prompt_R: ArrayLike, code_R: ArrayLike, n_prompts: int) -> LabelCounts:
    """Count the labels of rows: ``code_R`` holds any integer code, negative for no label.

    Raises DataError for shapes that differ or prompts outside 0..n_prompts-1.
    """
    code = np.asarray(code_R)
    if code.ndim != 1 or (code.size and code.dtype.kind not in "iu"):
        raise DataError(f"code_R must be a vector of integers, got {code.dtype} {code.shape}.")
    prompt = row_prompts(prompt_R, n_prompts, code.size)
    keep = code >= 0
    prompt, code = prompt[keep], code[keep]
    order = np.lexsort((code, prompt))
    prompt, code = prompt[order], code[order]
    first = np.ones(code.size, dtype=bool)
    first[1:] = (np.diff(code) != 0) | (np.diff(prompt) != 0)
    at = np.flatnonzero(first)
    count = np.diff(np.append(at, code.size))
    return LabelCounts(prompt_L=prompt[at], count_L=count.astype(np.int64))


def distinct_at_k(label_counts: LabelCounts, n_P: ArrayLike, k: Budgets) -> Floats:
    """Estimate how many distinct labels k rollouts contain, per prompt.

    Parameters
    ----------
    label_counts: counts of the labels, of successes only (distinct rewarded solutions) or of all
        rows (distinct outputs).
    n_P: all graded rollouts per prompt, successes or not, shape [P].
    k: budget in rollouts, one or a sequence of K.

    Returns
    -------
    float64, shape [P] or [P, K]; 0 for prompts without labels, NaN where n < k.

    Raises
    ------
    DataError: a label seen more often than its prompt was sampled, or a prompt index >= P.

    What it measures
    ----------------
    The number of different solutions that a budget of k rollouts turns up.

    Estimand and assumptions
    ------------------------
    Sum over labels of 1 - (1-p_l)^k. Each term is unbiased by the same estimator as pass@k, so
    the sum is too; labels may overlap (one row may carry several kinds, not several of one kind).

    When it misleads
    ----------------
    Per equal *rollouts* a policy that succeeds more often finds more: use rarefaction to equal
    successes (:func:`rarefied_coverage`) to separate diversity from accuracy. Labels finer than
    meant (whitespace, order of commuting terms) inflate it.

    Example
    -------
    >>> seen = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([3, 1]))
    >>> distinct_at_k(seen, [4], [1, 2, 4]).round(4)
    array([[1. , 1.5, 2. ]])

    Source
    ------
    Hurlbert 1971 (rarefaction), with rollouts that carry no label as a class of their own.
    """
    n = whole_numbers(n_P, "n_P")
    k_K, scalar = budgets(k)
    _check_labels(label_counts, n)
    pairs, inverse = unique_pairs(n[label_counts.prompt_L], label_counts.count_L)
    out = np.zeros((n.size, k_K.size))
    if inverse.size:
        ones = np.ones(inverse.size)
        weights = csr_array((ones, (label_counts.prompt_L, inverse)), (n.size, len(pairs)))
        for part in _slices(k_K.size, len(pairs)):
            table = hit(pairs[:, :1], pairs[:, 1:], k_K[None, part])
            out[:, part] = weights @ np.nan_to_num(table)
    out[n[:, None] < k_K[None, :]] = np.nan
    return out[:, 0] if scalar else out


def coverage(label_counts: LabelCounts, totals_P: ArrayLike, n_P: ArrayLike, k: Budgets) -> Floats:
    """Estimate the share of all existing labels that k rollouts find, per prompt.

    Parameters
    ----------
    label_counts: counts of the labels of successes.
    totals_P: how many labels exist per prompt, shape [P]; NaN where that is not known.
    n_P: all graded rollouts per prompt, shape [P].
    k: budget in rollouts, one or a sequence of K.

    Returns
    -------
    float64, shape [P] or [P, K]; NaN where n < k, where the total is unknown or 0. Its mean over
    prompts is the macro coverage, in which a prompt without success counts 0.

    Raises
    ------
    DataError: more labels seen than exist, a negative total; the message names the rows.

    What it measures
    ----------------
    How much of the enumerated solution set (or of the entry families) free sampling still finds.

    Estimand and assumptions
    ------------------------
    E[distinct labels within k rollouts] / total. Unbiased; the totals are exact.

    When it misleads
    ----------------
    At equal rollouts it mixes accuracy and diversity. A prompt with one existing solution gives 0
    or 1. Coverage at k = 64 of a set of 10,000 solutions is small for every policy.

    Example
    -------
    >>> seen = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([3, 1]))
    >>> coverage(seen, [4, 7], [4, 4], 4)
    array([0.5, 0. ])

    Source
    ------
    Solution coverage of enumerated Countdown solutions as in arXiv 2608.29188; expectation by
    Hurlbert 1971.
    """
    totals = vector(totals_P, "totals_P")
    found = distinct_at_k(label_counts, n_P, k)
    if totals.shape != found.shape[:1]:
        raise DataError(f"totals_P has {totals.size} rows, n_P has {found.shape[0]}; pair them.")
    seen = np.bincount(label_counts.prompt_L, minlength=totals.size)
    refuse((seen > totals) | (totals < 0), "totals_P", totals, "at least the labels seen")
    usable = np.where(totals > 0, totals, np.nan)
    return found / (usable if found.ndim == 1 else usable[:, None])


def distinct_outputs(text_R: ArrayLike, prompt_R: ArrayLike, n_prompts: int) -> Ints:
    """Count the distinct outputs of each prompt.

    Parameters
    ----------
    text_R: integer codes that are equal if and only if two texts are equal, shape [R].
    prompt_R: index of each row's prompt, shape [R].
    n_prompts: P.

    Returns
    -------
    int64, shape [P].

    Raises
    ------
    DataError: codes that are no integers or negative, prompts outside 0..P-1.

    What it measures
    ----------------
    The quick collapse test: 100 prompts x 10 generations, mean number of distinct outputs.

    Estimand and assumptions
    ------------------------
    The plain count at the n that was drawn; compare policies at equal n, or with
    :func:`distinct_at_k` at a common k.

    When it misleads
    ----------------
    The absolute number says little: on YES/NO tasks it is low from the start, with long free text
    every output differs. Judge a fall against the base or the run's own start.

    Example
    -------
    >>> distinct_outputs([7, 7, 9, 4], [0, 0, 0, 1], 2)
    array([2, 1])

    Source
    ------
    A count; the 100 x 10 test is practitioners' usage.
    """
    code = np.asarray(text_R)
    if code.size and code.dtype.kind in "iu":
        refuse(code < 0, "text_R", code, ">= 0")
    counted = count_labels(prompt_R, code, n_prompts)
    return np.bincount(counted.prompt_L, minlength=n_prompts)


def _check_labels(label_counts: LabelCounts, n: Ints) -> None:
    prompt, count = label_counts.prompt_L, label_counts.count_L
    refuse(prompt >= n.size, "prompt_L", prompt, f"in 0..{n.size - 1}")
    refuse(count > n[prompt], "count_L", count, "at most the rollouts of the prompt")


def _slices(n_columns: int, n_rows: int) -> Iterator[slice]:
    width = max(1, _CHUNK // max(n_rows, 1))
    for at in range(0, n_columns, width):
        yield slice(at, at + width)
