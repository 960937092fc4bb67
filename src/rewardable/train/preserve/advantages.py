"""Advantages that pay for spread: balanced over families, and for the best of k.

All are computed within groups, over the graded rows, and have mean zero there; UNGRADED rows get
None. They act on what a group of answers was paid, never on verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rewardable.errors import ConfigError, unknown_name
from rewardable.train.taps import AdvantageRule, RolloutBatch

Floats = npt.NDArray[np.float64]
Scale = Literal["std", "none"]

EPSILON = 1e-4
"""Added to a deviation before it divides, as in TRL."""
_TOLERANCE = 1e-6
"""Rewards that differ by less, relative to the largest, are equal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BalancedConfig:
    """Successes share their group's positive advantage equally between families.

    label: the verdict's label that names the family, ``solution`` or ``entry``; successes without
    it are one family. spread: strength of the signal in groups without failures, in units of the
    signal of a group with one failure; 0 turns it off.
    """

    label: str = "solution"
    spread: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not self.label:
            raise ConfigError("label must name a label of verdicts, such as 'solution'.")
        if not 0.0 <= self.spread < math.inf:
            raise ConfigError(f"spread must be >= 0, got {self.spread!r}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class PassAtKConfig:
    """A row is paid what it adds to the best of k answers. k must be below the group size."""

    k: int = 4

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.k < 1:
            raise ConfigError(f"k must be at least 1, got {self.k}.")


def plain_advantages(rewards: Sequence[float], scale: Scale = "std") -> Floats:
    """Return plain GRPO's advantages of one group: (r - mean) / (sample deviation + 1e-4).

    Rewards that are equal up to rounding give exact zeros. ``scale="none"`` does not divide.

    >>> plain_advantages([1, 0, 0, 0], "none").tolist()
    [0.75, -0.25, -0.25, -0.25]
    """
    reward_G = np.asarray(rewards, dtype=np.float64)
    if constant(reward_G):
        return np.zeros(len(reward_G))
    centred_G = reward_G - reward_G.mean()
    return centred_G / (centred_G.std(ddof=1) + EPSILON) if scale == "std" else centred_G


def constant(reward_G: Floats) -> bool:
    """Return whether rewards are equal up to rounding; a group of one is."""
    if len(reward_G) < 2:
        return True
    return bool(np.ptp(reward_G) <= _TOLERANCE * max(1.0, float(np.abs(reward_G).max())))


def balance(
    advantages: Floats, correct: Sequence[bool], families: Sequence[Hashable], spread: float
) -> Floats:
    """Share the positive advantage of one group's successes equally between their families.

    With M the sum over the S successes and F families, of which row i's occurs n_i times, row i
    gets M / (F n_i), plus what it had above or below its fellow successes (likeness, partial pay).
    Where all rows are right, M = 0 and row i gets ``spread * (S / (F n_i) - 1)`` on top.
    """
    right = np.asarray(correct, dtype=bool)
    if not right.any():
        return advantages
    share_S = _equal_shares([f for f, ok in zip(families, correct, strict=True) if ok])
    mass = float(advantages[right].sum())
    out = advantages.copy()
    if right.all():
        out += spread * (len(right) * share_S - 1.0)
    elif mass > 0.0:
        out[right] += mass * (share_S - 1.0 / len(share_S))
    return out


def _equal_shares(families: Sequence[Hashable]) -> Floats:
    """Return each row's share: 1 / (families x rows of its family). They sum to 1."""
    counts: dict[Hashable, int] = {}
    for family in families:
        counts[family] = counts.get(family, 0) + 1
    return np.array([1.0 / (len(counts) * counts[family]) for family in families])


def one_failure_scale(size: int, scale: Scale) -> float:
    """Return a success's plain advantage in a group of ``size`` with a single failure.

    1 / N unscaled; over the sample deviation 1 / sqrt(N) it is 1 / sqrt(N).
    """
    if size < 2:
        return 0.0
    return 1.0 / size if scale == "none" else (1.0 / size) / (1.0 / math.sqrt(size) + EPSILON)


def best_of_k_advantages(rewards: Sequence[float], k: int, scale: Scale = "std") -> Floats:
    """Return E[best of k | row i among them] - E[best of k], over the subsets of one group.

    For rewards 0 and 1 this is the closed form of pass@k training: with c of N right,
    1 - R for a success and 1 - R - C(N-c-1, k-1) / C(N-1, k-1) for a failure, where
    R = 1 - C(N-c, k) / C(N, k). ``scale="std"`` divides by the deviation of the best over the
    subsets, sqrt(R (1 - R)) there.

    Raises
    ------
    ConfigError: k is not below the number of rows: every row would be in every subset.
    """
    reward_G = np.asarray(rewards, dtype=np.float64)
    n = len(reward_G)
    if k >= n:
        raise ConfigError(f"pass@k advantages need k below the graded rows of a group; {k} >= {n}.")
    if constant(reward_G):
        return np.zeros(n)
    order = np.argsort(reward_G, kind="stable")
    sorted_G = reward_G[order]
    top_G = np.array([math.comb(j, k - 1) for j in range(n)]) / math.comb(n, k)
    mean = float(sorted_G @ top_G)
    with_G = sorted_G * (n / k) * top_G  # row j in the subset and its best
    if k > 1:
        beaten_G = np.array([math.comb(j - 1, k - 2) if j else 0 for j in range(n)])
        above_G = sorted_G * beaten_G / math.comb(n - 1, k - 1)
        with_G = with_G + above_G.sum() - np.cumsum(above_G)
    advantage_G = np.empty(n)
    advantage_G[order] = with_G - mean
    if scale == "std":
        advantage_G /= math.sqrt(float((sorted_G - mean) ** 2 @ top_G)) + EPSILON
    return advantage_G


def rloo_factor(n: int) -> float:
    """Return N / (N - 1): a reward above its leave-one-out mean, over its excess above the mean."""
    return n / (n - 1) if n > 1 else 1.0


def advantage_rule(
    *,
    balanced: BalancedConfig | None = None,
    pass_at_k: PassAtKConfig | None = None,
    scale: Scale = "std",
    leave_one_out: bool = False,
) -> AdvantageRule:
    """Return the rule: plain GRPO's advantages or those for the best of k, balanced if told.

    scale: whether each group's are divided by its deviation. leave_one_out: the trainer subtracts
    the mean of the others (RLOO) and so multiplies by N / (N - 1); that is taken out beforehand.
    """

    def rule(batch: RolloutBatch) -> list[float | None]:
        if balanced is not None:
            _check_label(batch, balanced.label)
        out: list[float | None] = [None] * len(batch.texts)
        for rows in batch.groups:
            kept = [i for i in rows if batch.rewards[i] is not None]
            for i, value in zip(kept, one_group(batch, kept), strict=True):
                out[i] = float(value)
        return out

    def one_group(batch: RolloutBatch, kept: Sequence[int]) -> Floats:
        rewards = [reward for i in kept if (reward := batch.rewards[i]) is not None]
        if pass_at_k is None or not rewards:
            found = plain_advantages(rewards, scale)
        else:
            found = _best_of_k(rewards, pass_at_k.k, scale, batch.group_size)
        if balanced is not None:
            families = [_family(batch, i, balanced.label) for i in kept]
            spread = balanced.spread * one_failure_scale(len(kept), scale)
            found = balance(found, [batch.correct[i] for i in kept], families, spread)
        return found / rloo_factor(len(kept)) if leave_one_out else found

    return rule


def _best_of_k(rewards: Sequence[float], k: int, scale: Scale, group_size: int) -> Floats:
    """Refuse a k that no group can serve; a group thinned by UNGRADED rows takes the next lower."""
    if k >= group_size:
        raise ConfigError(f"pass_at_k.k ({k}) must be below group_size ({group_size}).")
    if len(rewards) < 2:
        return np.zeros(len(rewards))
    return best_of_k_advantages(rewards, min(k, len(rewards) - 1), scale)


def _check_label(batch: RolloutBatch, label: str) -> None:
    """Refuse a label that no success of a batch has, where they have others."""
    named = [one.verdict.labels for one, ok in zip(batch.shaped, batch.correct, strict=True) if ok]
    known = {name for labels in named for name in labels}
    if known and label not in known:
        raise unknown_name("label of balanced:", label, known)


def _family(batch: RolloutBatch, row: int, label: str) -> str:
    return batch.shaped[row].verdict.labels.get(label, "")
