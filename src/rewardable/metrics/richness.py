"""Coverage at equal numbers of successes, and how much has not been seen yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, Ints, refuse, vector, whole, whole_numbers
from rewardable.metrics.labels import LabelCounts, distinct_at_k


@dataclass(frozen=True, kw_only=True, eq=False)
class RarefiedCoverage:
    """Coverage at ``successes`` successes per prompt and policy.

    value_AP: one row a policy, shape [A, P]; NaN on prompts that dropped out.
    kept, dropped: prompts on which every policy has enough successes, and the others.
    """

    value_AP: NDArray[np.float64]
    successes: int
    kept: int
    dropped: int


def rarefied_coverage(
    labels_A: list[LabelCounts], c_AP: ArrayLike, totals_P: ArrayLike, successes: int
) -> RarefiedCoverage:
    """Estimate which share of the existing labels m *successes* find, for every policy.

    Parameters
    ----------
    labels_A: label counts of the successes, one a policy, all on the same prompts.
    c_AP: successes per policy and prompt, shape [A, P].
    totals_P: how many labels exist, shape [P]; NaN where unknown (such prompts drop out).
    successes: m, at least 1.

    Returns
    -------
    RarefiedCoverage: values on the prompts where *every* policy has at least m successes, and how
    many prompts dropped out.

    Raises
    ------
    DataError: a label seen more often than its prompt has successes; shapes that differ.

    What it measures
    ----------------
    Diversity among correct answers with accuracy taken out.

    Estimand and assumptions
    ------------------------
    E[distinct labels among m successes] / total, per prompt, given at least m successes. Unbiased
    on the kept prompts: the order of successes carries no information.

    When it misleads
    ----------------
    The kept prompts are the easy ones, and which they are depends on both policies: read the
    number that dropped out first. A larger m sees more of the tail on fewer prompts.

    Example
    -------
    >>> even = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([2, 2]))
    >>> skewed = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([7, 1]))
    >>> found = rarefied_coverage([even, skewed], [[4, 0], [8, 3]], [2, 5], 2)
    >>> found.value_AP[:, 0].round(4), found.dropped
    (array([0.8333, 0.625 ]), 1)

    Source
    ------
    Hurlbert 1971, rarefaction to equal numbers of individuals.
    """
    whole(successes, "successes")
    totals = vector(totals_P, "totals_P")
    rows = [whole_numbers(row, "c_AP") for row in np.atleast_2d(np.asarray(c_AP))]
    if len(rows) != len(labels_A) or any(row.shape != totals.shape for row in rows):
        raise DataError(
            f"c_AP must be [{len(labels_A)} policies, {totals.size} prompts], got {np.shape(c_AP)}."
        )
    pairs = zip(labels_A, rows, strict=True)
    value = np.stack([distinct_at_k(seen, row, successes) for seen, row in pairs])
    value = value / np.where(totals > 0, totals, np.nan)
    lacking = np.isnan(value).any(axis=0)
    value[:, lacking] = np.nan
    return RarefiedCoverage(
        value_AP=value,
        successes=successes,
        kept=int((~lacking).sum()),
        dropped=int(lacking.sum()),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Richness:
    """Lower bounds for the number of labels that exist, per prompt.

    seen_P: labels seen. least_P: Chao1, a lower bound for the number that exist.
    low_P, high_P: its log-normal interval. An upper bound for the number does not exist.
    """

    seen_P: NDArray[np.float64]
    least_P: NDArray[np.float64]
    low_P: NDArray[np.float64]
    high_P: NDArray[np.float64]


def chao1(label_counts: LabelCounts, n_P: ArrayLike) -> Richness:
    """Estimate a lower bound for how many labels exist, per prompt, where none can be enumerated.

    Parameters
    ----------
    label_counts: counts of the labels, of successes.
    n_P: rows with a label per prompt (successes), shape [P].

    Returns
    -------
    Richness; 0 where nothing was seen.

    Raises
    ------
    DataError: a label seen more often than its prompt was sampled, naming the rows.

    What it measures
    ----------------
    How many different solutions the policy can reach at the least, seen or not.

    Estimand and assumptions
    ------------------------
    seen + (n-1)/n x f1 (f1 - 1) / (2 (f2 + 1)), with f1 labels seen once and f2 seen twice: in
    expectation at most the number of labels with positive probability, near it when the unseen
    ones are about equally rare.

    When it misleads
    ----------------
    It is a lower bound: a tail of very many very rare solutions stays invisible at any n, and the
    interval is the interval of the bound. Mislabelled duplicates inflate f1.

    Example
    -------
    >>> seen = LabelCounts(prompt_L=np.zeros(4, int), count_L=np.array([1, 1, 2, 4]))
    >>> chao1(seen, [8]).least_P.round(4)
    array([4.4375])

    Source
    ------
    Chao 1984; bias-corrected form and log-normal interval of Chao 1987.
    """
    n, ones, twos, seen = _rare(label_counts, n_P)
    part = np.where(n > 0, (n - 1) / np.maximum(n, 1), 0.0)
    extra = part * ones * (ones - 1) / (2 * (twos + 1))
    var = (
        extra
        + part**2 * ones * (2 * ones - 1) ** 2 / (4 * (twos + 1) ** 2)
        + part**2 * ones**2 * twos * (ones - 1) ** 2 / (4 * (twos + 1) ** 4)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.exp(1.959963984540054 * np.sqrt(np.log1p(var / extra**2)))
        low = np.where(extra > 0, seen + extra / spread, seen)
        high = np.where(extra > 0, seen + extra * spread, seen)
    return Richness(seen_P=seen, least_P=seen + extra, low_P=low, high_P=high)


def unseen_mass(label_counts: LabelCounts, n_P: ArrayLike) -> Floats:
    """Estimate the probability that the next row shows a label not seen so far, per prompt.

    Parameters
    ----------
    label_counts: counts of the labels, of successes or of all rows.
    n_P: rows with a label per prompt, shape [P].

    Returns
    -------
    float64, shape [P]; NaN where n = 0. Average it with :func:`mean_interval`.

    Raises
    ------
    DataError: a label seen more often than its prompt was sampled, naming the rows.

    What it measures
    ----------------
    How far sampling is from having seen what there is; 1 minus it is the sample coverage.

    Estimand and assumptions
    ------------------------
    The expected unseen probability after n - 1 rows; f1 / n is unbiased for it. Rows independent.

    When it misleads
    ----------------
    It is a probability, no number of labels: a mass of 0.02 may be one solution or a thousand.

    Example
    -------
    >>> seen = LabelCounts(prompt_L=np.zeros(4, int), count_L=np.array([1, 1, 2, 4]))
    >>> unseen_mass(seen, [8])
    array([0.25])

    Source
    ------
    Good 1953 (Turing's estimate).
    """
    n, ones, _, _ = _rare(label_counts, n_P)
    return np.where(n > 0, ones / np.maximum(n, 1), np.nan)


def _rare(label_counts: LabelCounts, n_P: ArrayLike) -> tuple[Ints, Floats, Floats, Floats]:
    """Return n and, per prompt, labels seen once, twice, at all."""
    n = whole_numbers(n_P, "n_P")
    prompt, count = label_counts.prompt_L, label_counts.count_L
    refuse(prompt >= n.size, "prompt_L", prompt, f"in 0..{n.size - 1}")
    refuse(count > n[prompt], "count_L", count, "at most the rows of the prompt")
    tallies = [
        np.bincount(prompt[which], minlength=n.size).astype(np.float64)
        for which in (count == 1, count == 2, count > 0)
    ]
    return n, tallies[0], tallies[1], tallies[2]
