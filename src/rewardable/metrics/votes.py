"""Majority votes over random subsets of the rollouts, where the exact average is too long a sum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardable.metrics.checks import Bools, Floats, Ints
from rewardable.metrics.labels import LabelCounts

Right = NDArray[np.bool_]


def sampled_votes(
    answers: LabelCounts, correct_L: Right, n_P: Ints, k_K: Ints, *, split: bool, draws: int,
    seed: int,
) -> Floats:  # fmt: skip
    """Return the share of ``draws`` random k-subsets whose vote is right, [P, K]; NaN where n < k.

    Every draw orders a prompt's rollouts at random and lets the first k vote, for all k. Unbiased;
    prompts draw independently, so an interval over prompts holds this noise too.
    """
    order = np.argsort(answers.prompt_L, kind="stable")
    prompt_L, count_L, right_L = answers.prompt_L[order], answers.count_L[order], correct_L[order]
    open_P = _some(prompt_L[right_L], n_P.size) & (n_P > 0)
    keep_L = open_P[prompt_L]
    out = np.zeros((n_P.size, k_K.size))
    if keep_L.any():
        place_P = np.cumsum(open_P) - 1
        votes = _Votes(
            place_P[prompt_L[keep_L]], count_L[keep_L], right_L[keep_L], n_P[open_P], k_K
        )
        rng = np.random.default_rng(seed)
        total = np.zeros((int(open_P.sum()), k_K.size))
        for _ in range(draws):
            total += votes.draw(rng, split=split)
        out[open_P] = total / draws
    out[n_P[:, None] < k_K[None, :]] = np.nan
    return out


def _some(prompt_L: Ints, size: int) -> Bools:
    return np.bincount(prompt_L, minlength=size) > 0


class _Votes:
    """The rollouts of the prompts that have a right answer, laid out prompt by prompt."""

    def __init__(self, prompt_L: Ints, count_L: Ints, right_L: Right, n_P: Ints, k_K: Ints) -> None:
        self._prompt_L, self._right_L = prompt_L, right_L
        self._begin_P = np.flatnonzero(np.diff(prompt_L, prepend=-1))
        silent_P = n_P - np.bincount(prompt_L, weights=count_L, minlength=n_P.size).astype(np.int64)
        code_R = np.concatenate([np.repeat(np.arange(prompt_L.size), count_L),
                                 np.full(int(silent_P.sum()), prompt_L.size)])  # fmt: skip
        prompt_R = np.concatenate([np.repeat(prompt_L, count_L),
                                   np.repeat(np.arange(n_P.size), silent_P)])  # fmt: skip
        self._even = bool((n_P == n_P[0]).all())
        order = np.argsort(prompt_R, kind="stable")
        self._code_R, self._prompt_R = code_R[order], prompt_R[order]
        rank_R = np.arange(code_R.size) - (np.cumsum(n_P) - n_P)[self._prompt_R]
        self._voting_K = [np.flatnonzero(rank_R < k) for k in k_K.tolist()]

    def _shuffled(self, rng: np.random.Generator) -> Ints:
        """Return a random order of the rollouts within every prompt."""
        place_R = rng.random(self._code_R.size)
        if not self._even:
            return np.argsort(self._prompt_R + place_R)
        order_PR = np.argsort(place_R.reshape(self._begin_P.size, -1), axis=1)
        starts_P = np.arange(len(order_PR)) * order_PR.shape[1]
        return (order_PR + starts_P[:, None]).reshape(-1)

    def draw(self, rng: np.random.Generator, *, split: bool) -> Floats:
        """Return, for one random order of every prompt, the share of the win of right answers."""
        size = self._prompt_L.size
        code_R = self._code_R[self._shuffled(rng)]
        columns: list[Floats] = []
        for voting in self._voting_K:
            count_L = np.bincount(code_R[voting], minlength=size + 1)[:size]
            top_P = np.maximum.reduceat(count_L, self._begin_P)
            first_L = (count_L == top_P[self._prompt_L]) & (count_L > 0)
            tied_P = np.add.reduceat(first_L.astype(np.int64), self._begin_P)
            right_P = np.add.reduceat((first_L & self._right_L).astype(np.int64), self._begin_P)
            share_P = right_P / np.maximum(tied_P, 1)
            columns.append(share_P if split else np.where(tied_P == 1, share_P, 0.0))
        return np.stack(columns, axis=1)
