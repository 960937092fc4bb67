"""Rewards of tokens, generalised advantages and their whitening: arrays in, arrays out.

B completions, right-padded to T tokens; ``mask_BT`` tells which places hold one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_TOLERANCE = 1e-6


def token_rewards(paid_B: Floats, mask_BT: Bools, penalty_BT: Floats | None = None) -> Floats:
    """Return the reward of each token: minus its penalty, and at the last one what is paid.

    >>> token_rewards(np.array([1.0]), np.array([[True, True, False]]), np.full((1, 3), 0.1))
    array([[-0.1,  0.9,  0. ]])
    """
    reward_BT = np.zeros(mask_BT.shape)
    if penalty_BT is not None:
        reward_BT -= np.where(mask_BT, penalty_BT, 0.0)
    last_B = mask_BT.sum(axis=1) - 1
    rows = np.flatnonzero(last_B >= 0)
    reward_BT[rows, last_B[rows]] += paid_B[rows]
    return reward_BT


def gae(
    reward_BT: Floats,
    value_BT: Floats,
    mask_BT: Bools,
    after_B: Floats,
    *,
    gamma: float,
    lam: float,
) -> tuple[Floats, Floats]:
    """Return (advantages, returns), both [B, T] and 0 outside the mask.

    value_BT: value of the state in which each token was chosen. after_B: value of the state behind
    the last token: 0 where the episode ended, the critic's value where it was cut.

    >>> advantage, returned = gae(np.array([[0.0, 1.0]]), np.array([[0.5, 0.25]]),
    ...                           np.array([[True, True]]), np.zeros(1), gamma=1.0, lam=1.0)
    >>> advantage.tolist(), returned.tolist()
    ([[0.5, 0.75]], [[1.0, 1.0]])
    """
    advantage_BT = np.zeros(reward_BT.shape)
    ahead_B, next_B = np.zeros(len(reward_BT)), np.asarray(after_B, dtype=np.float64)
    for t in range(reward_BT.shape[1] - 1, -1, -1):
        here_B = mask_BT[:, t]
        surprise_B = reward_BT[:, t] + gamma * next_B - value_BT[:, t]
        ahead_B = np.where(here_B, surprise_B + gamma * lam * ahead_B, 0.0)
        next_B = np.where(here_B, value_BT[:, t], next_B)
        advantage_BT[:, t] = ahead_B
    return advantage_BT, np.where(mask_BT, advantage_BT + value_BT, 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spread:
    """Mean and deviation of all advantages that take part, in all processes."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values_N: Floats) -> Spread:
        """Measure; a deviation within rounding of zero is zero."""
        if not values_N.size:
            return cls(mean=0.0, deviation=0.0)
        deviation = float(values_N.std())
        scale = max(1.0, float(np.abs(values_N).max()))
        return cls(
            mean=float(values_N.mean()),
            deviation=deviation if deviation > _TOLERANCE * scale else 0.0,
        )

    def whiten(self, values_BT: Floats, mask_BT: Bools) -> Floats:
        """Return the values at mean 0 and deviation 1; all 0 where nothing tells them apart."""
        if not self.deviation:
            return np.zeros(values_BT.shape)
        return np.where(mask_BT, (values_BT - self.mean) / self.deviation, 0.0)


def explained_variance(returned_N: Floats, value_N: Floats) -> float | None:
    """Return the share of the returns' variance that the values foresaw; None where there is none.

    1 is perfect, 0 is what a constant gives, below 0 is worse than a constant.
    """
    if not returned_N.size or (spread := float(returned_N.var())) <= _TOLERANCE**2:
        return None
    return 1.0 - float((returned_N - value_N).var()) / spread
