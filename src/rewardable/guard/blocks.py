"""Counts of an audit as blocks: what a fixed number of rollouts of a prompt would have shown.

Arrays carry their shape in the name: P prompts, B + 1 moments, L stakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np
from numpy.typing import NDArray

from rewardable.metrics.subsets import log_choose, miss

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BLOCKS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """One look at P prompts: b blocks of rollouts a prompt, each with a value in [0, 1].

    moment_PB: E[C(J, r)] for r = 0..b, where J counts the blocks of value 0 when the rollouts of
        the prompt are put into blocks at random. Exact, so nothing depends on their order.
    A single bounded value x is one block with moments (1, 1 - x).
    top_P: the largest value that a block of the prompt can take; 1 unless values are capped.
    """

    moment_PB: Floats
    top_P: Floats

    @property
    def size(self) -> int:
        """Blocks a prompt, b."""
        return self.moment_PB.shape[1] - 1

    @property
    def value(self) -> Floats:
        """Mean value of a block, per prompt: the unbiased estimate."""
        return 1.0 - self.moment_PB[:, 1] / self.size


def support_blocks(n_P: Ints, c_P: Ints, k: int, missing: float = 1.0) -> Blocks:
    """Blocks of k rollouts; a block is 1 when it holds a success.

    Prompts with n < k count as ``missing``: 1 is in favour of the run, 0 against it.
    """
    size = block_size(n_P, k)
    rows = [_support_moments(n_P, c_P, k, r, size) for r in range(size + 1)]
    return _with_missing(np.stack(rows, axis=1), n_P < k, missing)


def variation_blocks(n_P: Ints, c_P: Ints, group: int, missing: float = 1.0) -> Blocks:
    """Blocks of G rollouts; a block is 1 when it holds a success and a failure."""
    size = block_size(n_P, group)
    rows = [_variation_moments(n_P, c_P, group, r, size) for r in range(size + 1)]
    return _with_missing(np.stack(rows, axis=1), n_P < group, missing)


def bounded_blocks(value_P: Floats, top_P: Floats) -> Blocks:
    """One block a prompt with the given value in [0, top], top <= 1; larger values are capped."""
    capped_P = np.minimum(value_P, top_P)
    return Blocks(moment_PB=np.stack([np.ones_like(capped_P), 1.0 - capped_P], axis=1), top_P=top_P)


def block_size(n_P: Ints, k: int) -> int:
    """Return how many blocks of k every prompt with n >= k can fill, at most ``MOST_BLOCKS``."""
    enough = n_P[n_P >= k]
    return int(min(MOST_BLOCKS, (enough // k).min())) if enough.size else 1


def _support_moments(n: Ints, c: Ints, k: int, r: int, size: int) -> Floats:
    ways = factorial(size) / (factorial(r) * factorial(size - r))
    return ways * np.nan_to_num(miss(n, c, np.array(r * k)))


def _variation_moments(n: Ints, c: Ints, k: int, r: int, size: int) -> Floats:
    """Sum over s blocks all right and r - s all wrong: C(n - rk, c - sk) / C(n, c)."""
    total = np.zeros(n.shape)
    for s in range(r + 1):
        ways = factorial(size) / (factorial(s) * factorial(r - s) * factorial(size - r))
        left, right = n - r * k, c - s * k
        fits = (left >= 0) & (right >= 0) & (right <= left)
        share = np.zeros(n.shape)
        share[fits] = np.exp(log_choose(left[fits], right[fits]) - log_choose(n[fits], c[fits]))
        total += ways * share
    return total


def _with_missing(moment_PB: Floats, absent_P: NDArray[np.bool_], value: float) -> Blocks:
    size = moment_PB.shape[1] - 1
    ways = [factorial(size) / (factorial(r) * factorial(size - r)) for r in range(size + 1)]
    worst = np.array(ways) if value == 0.0 else np.array([1.0] + [0.0] * size)
    return Blocks(
        moment_PB=np.where(absent_P[:, None], worst[None, :], moment_PB),
        top_P=np.ones(moment_PB.shape[0]),
    )
