"""Across checkpoints: whose texts are likely under whom, and when families disappear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.metrics import Interval, binomial_interval, mean_interval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def likelihood_matrix(
    scores: Mapping[tuple[str, str], tuple[Ints, Floats]], *, level: float = 0.95
) -> dict[tuple[str, str], Interval]:
    """Return (source, scorer) -> mean log-prob a token of the source's texts under the scorer.

    scores: (source, scorer) -> (prompt_S, mean log-prob a token of each sequence). Prompts weigh
    the same.
    """
    return {
        pair: mean_interval(_by_prompt(prompt_S, mean_S), level=level, bounds=None)
        for pair, (prompt_S, mean_S) in scores.items()
    }


def _by_prompt(prompt_S: Ints, value_S: Floats) -> Floats:
    count = np.bincount(prompt_S)
    total = np.bincount(prompt_S, value_S)
    return total[count > 0] / count[count > 0]


def pair_difference(
    first: tuple[Ints, Ints], second: tuple[Ints, Ints] | None, n_prompts: int,
    *, level: float = 0.95,
) -> Interval:  # fmt: skip
    """Return the chance that two rollouts of one prompt differ, within or between checkpoints.

    first, second: (prompt_R, code_R) of two checkpoints; equal codes are equal trajectories.
    ``second=None`` compares different rollouts of the first (unbiased: no rollout with itself).
    """
    values: list[float] = []
    for i in range(n_prompts):
        mine = first[1][first[0] == i]
        other = mine if second is None else second[1][second[0] == i]
        if mine.size == 0 or other.size == 0 or (second is None and mine.size < 2):
            continue
        codes = np.unique(np.concatenate([mine, other]))
        a, b = (
            np.bincount(np.searchsorted(codes, one), minlength=codes.size) for one in (mine, other)
        )
        if second is None:
            same = float((a * (a - 1)).sum()) / (mine.size * (mine.size - 1))
        else:
            same = float(a @ b) / (mine.size * other.size)
        values.append(1.0 - same)
    return mean_interval(np.array(values), level=level, bounds=(0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class FamilyLife:
    """A family of one prompt along a series of checkpoints.

    counts: rollouts that start it at each checkpoint. last_seen: index of the last checkpoint at
    which it was started. upper: bound of its access at the checkpoint after that (0 seen there),
    None where it is seen to the end. certified: its fall from the first checkpoint to the last is
    certified at the level, each checkpoint's exact interval taken (no correction for many
    families: see the table's note).
    """

    prompt: int
    family: int
    counts: tuple[int, ...]
    last_seen: int
    upper: float | None
    certified: bool


def family_lives(
    started: Sequence[Mapping[tuple[int, int], int]], n: Sequence[Ints], *, level: float = 0.95
) -> list[FamilyLife]:
    """Return every family that the first checkpoint starts, with when it was last seen.

    started: by checkpoint, (prompt, family) -> rollouts that start it. n: by checkpoint, rollouts
    of each prompt.
    """
    keys = sorted(started[0])
    family_level = 1 - (1 - level) / max(len(keys), 1)
    lives: list[FamilyLife] = []
    for prompt, family in keys:
        counts = tuple(one.get((prompt, family), 0) for one in started)
        last = max(j for j, count in enumerate(counts) if count)
        sizes = [int(one[prompt]) for one in n]
        gone = last + 1 < len(counts)
        upper = _ends(sizes[last + 1], 0, level)[1] if gone else None
        low = _ends(sizes[0], counts[0], family_level)[0]
        high = _ends(sizes[-1], counts[-1], family_level)[1]
        lives.append(
            FamilyLife(
                prompt=prompt, family=family, counts=counts, last_seen=last, upper=upper,
                certified=high < low,
            )
        )  # fmt: skip
    return lives


def _ends(n: int, c: int, level: float) -> tuple[float, float]:
    low_P, high_P = binomial_interval(n, [c], level)
    return float(low_P[0]), float(high_P[0])


def alive_share(
    known: Mapping[tuple[int, int], int],
    started: Sequence[Mapping[tuple[int, int], int]],
    n_prompts: int,
    *,
    level: float = 0.95,
) -> list[Interval]:
    """Return, by checkpoint, the share of the ``known`` families that are still started.

    Prompts weigh the same. ``known`` must come from other samples than ``started[0]``, else the
    first checkpoint would show all of its own families, rare ones too.
    """
    found: list[Interval] = []
    for one in started:
        total, alive = np.zeros(n_prompts), np.zeros(n_prompts)
        for key in known:
            total[key[0]] += 1
            alive[key[0]] += key in one
        share = alive[total > 0] / total[total > 0]
        found.append(mean_interval(share, level=level, bounds=(0.0, 1.0)))
    return found
