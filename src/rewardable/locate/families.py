"""Starts and successes by entry family, and the exact split of a change of pass@1.

Arrays: R rollouts, P prompts, L (prompt, family) pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_FAMILY = -1
"""Code of a rollout that starts no family (no answer, no readable opening)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FamilyCounts:
    """How often each family was started and how often that start led to success.

    prompt_L, family_L: the pairs, sorted, each once. started_L: rollouts that start the family.
    success_L: successes among them. n_P: all graded rollouts of each prompt, those that start no
    family included.

    Raises DataError for successes above starts, starts above n, or a pair that comes twice.
    """

    prompt_L: Ints
    family_L: Ints
    started_L: Ints
    success_L: Ints
    n_P: Ints

    def __post_init__(self) -> None:
        """Refuse counts that contradict each other."""
        if (self.success_L > self.started_L).any() or (self.success_L < 0).any():
            raise DataError("a family has more successes than starts, or fewer than none.")
        total_P = np.bincount(self.prompt_L, self.started_L, minlength=self.n_P.size)
        if total_P.size > self.n_P.size or (total_P > self.n_P).any():
            raise DataError("a prompt has more starts than rollouts; is n_P of the same samples?")
        pairs = np.stack([self.prompt_L, self.family_L])
        if pairs.shape[1] != np.unique(pairs, axis=1).shape[1]:
            raise DataError("a (prompt, family) pair comes twice.")

    @property
    def access_L(self) -> Floats:  # noqa: N802
        """Share of the prompt's rollouts that start the family."""
        return self.started_L / np.maximum(self.n_P[self.prompt_L], 1)

    @property
    def execution_L(self) -> Floats:  # noqa: N802
        """Share of its starts that succeed; NaN for a family that was never started."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.started_L > 0, self.success_L / self.started_L, np.nan)


def count_families(
    prompt_R: npt.ArrayLike, family_R: npt.ArrayLike, success_R: npt.ArrayLike, n_prompts: int
) -> FamilyCounts:
    """Count starts and successes. ``family_R`` is a code >= 0, or NO_FAMILY.

    Every row is a graded rollout. A success without a family is a DataError: the split would
    lose it; give such rollouts a family of their own.
    """
    prompt, family = np.asarray(prompt_R, dtype=np.int64), np.asarray(family_R, dtype=np.int64)
    success = np.asarray(success_R, dtype=bool)
    if (success & (family < 0)).any():
        raise DataError(
            f"{int((success & (family < 0)).sum())} successes start no family: give them one."
        )
    keep = family >= 0
    pairs = np.stack([prompt[keep], family[keep]])
    unique, inverse = np.unique(pairs, axis=1, return_inverse=True)
    size = unique.shape[1]
    inverse = inverse.reshape(-1)
    return FamilyCounts(
        prompt_L=unique[0],
        family_L=unique[1],
        started_L=np.bincount(inverse, minlength=size).astype(np.int64),
        success_L=np.bincount(inverse, success[keep], minlength=size).astype(np.int64),
        n_P=np.bincount(prompt, minlength=n_prompts).astype(np.int64),
    )


def align(counts: Sequence[FamilyCounts]) -> tuple[FamilyCounts, ...]:
    """Give several counts of the same prompts the same pairs; absent pairs get zero starts."""
    sizes = {one.n_P.size for one in counts}
    if len(sizes) > 1:
        raise DataError(f"counts of different numbers of prompts: {sorted(sizes)}.")
    pairs = np.unique(
        np.concatenate([np.stack([one.prompt_L, one.family_L]) for one in counts], axis=1), axis=1
    )
    return tuple(_on(one, pairs) for one in counts)


def _on(counts: FamilyCounts, pairs: Ints) -> FamilyCounts:
    place = {pair: row for row, pair in enumerate(zip(*pairs.tolist(), strict=True))}
    own = zip(counts.prompt_L.tolist(), counts.family_L.tolist(), strict=True)
    at = np.array([place[pair] for pair in own], dtype=np.int64)
    started, success = (np.zeros(pairs.shape[1], dtype=np.int64) for _ in range(2))
    started[at], success[at] = counts.started_L, counts.success_L
    return FamilyCounts(
        prompt_L=pairs[0], family_L=pairs[1], started_L=started, success_L=success, n_P=counts.n_P
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PassSplit:
    """A change of pass@1 by prompt: ``access_P + execution_P`` is the change, exactly.

    borrowed_P: the part of ``access_P`` that belongs to families which one side never started,
    whose execution there had to be taken from the other side.
    """

    access_P: Floats
    execution_P: Floats
    borrowed_P: Floats

    @property
    def change_P(self) -> Floats:  # noqa: N802
        """The change of pass@1."""
        return self.access_P + self.execution_P


def split_pass_at_1(
    before: FamilyCounts, after: FamilyCounts, forced: tuple[Floats, Floats] | None = None
) -> PassSplit:
    """Split the change of pass@1 into access and execution, family by family, symmetrically.

    pass@1 = sum of access_f * execution_f, so its change is the sum of (access' - access) times
    the mean execution, and (execution' - execution) times the mean access (the Shapley value of
    two factors). A family that one side never started has no execution there: it is taken from
    ``forced`` (shares of success with the entry forced, shape [L] on the aligned pairs, before
    and after) where given and known, else from the other side, so that such a change counts as
    access alone. Both counts must be aligned (see :func:`align`).
    """
    if before.prompt_L.shape != after.prompt_L.shape or (before.family_L != after.family_L).any():
        raise DataError("the counts are not on the same pairs: call align(...) first.")
    access = before.access_L, after.access_L
    free = before.execution_L, after.execution_L
    known = [one.copy() for one in free]
    if forced is not None:
        known = [np.where(np.isnan(a), f, a) for a, f in zip(known, forced, strict=True)]
    first, second = (np.where(np.isnan(mine), other, mine) for mine, other in (known, known[::-1]))
    shift, mean = access[1] - access[0], (access[0] + access[1]) / 2
    access_L = shift * (np.nan_to_num(first) + np.nan_to_num(second)) / 2
    execution_L = (np.nan_to_num(second) - np.nan_to_num(first)) * mean
    borrowed = np.isnan(free[0]) ^ np.isnan(free[1])
    return PassSplit(
        access_P=_sum(before, access_L),
        execution_P=_sum(before, execution_L),
        borrowed_P=_sum(before, np.where(borrowed, access_L, 0.0)),
    )


def _sum(counts: FamilyCounts, values_L: Floats) -> Floats:
    total_P = np.bincount(counts.prompt_L, values_L, minlength=counts.n_P.size)
    return total_P.astype(np.float64)
