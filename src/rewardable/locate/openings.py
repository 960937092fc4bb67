"""How completions begin: classes of openings, and how far two policies' openings are apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.metrics import Interval, mean_interval, ratio_interval

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Had = Callable[[int, int], bool]
"""(prompt, opening code) -> whether the base has this opening."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Openings:
    """How R graded rollouts of one policy begin. Codes mean the same for every policy compared."""

    prompt_R: Ints
    opening_R: Ints
    success_R: Bools

    def __post_init__(self) -> None:
        """Refuse arrays of different length."""
        if not self.prompt_R.size == self.opening_R.size == self.success_R.size:
            raise DataError("prompt_R, opening_R and success_R must have the same length.")


@dataclass(frozen=True, kw_only=True)
class Distance:
    """Total variation between the openings of two policies, averaged over prompts.

    value: cross-fitted, with its interval: openings that gained are chosen on one half of the
    samples and their gain is measured on the other, so that equal policies give 0 on average. It
    estimates a lower bound of the distance that tightens with n. plug_in: the distance of the two
    samples, too large by chance alone.
    reranked: share of the gain on openings that the base has; new: on the others, 1 - reranked.
    """

    value: Interval
    plug_in: float
    reranked: Interval
    n_prompts: int


def opening_distance(
    before: Openings,
    after: Openings,
    n_prompts: int,
    *,
    had: Had | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Distance:
    """Compare openings prompt by prompt.

    had: tells which openings the base has; by default those among its own samples, which calls
    openings rarer than one in n new. Prompts with fewer than 2 rollouts of either policy drop out.
    """
    gain_P, old_P, plug_P = (np.full(n_prompts, np.nan) for _ in range(3))
    rng = np.random.default_rng(seed)
    sides = [_by_prompt(one, n_prompts) for one in (before, after)]
    for i, (first, second) in enumerate(zip(*sides, strict=True)):
        if min(first.size, second.size) < 2:
            continue
        codes = np.unique(np.concatenate([first, second]))
        known = _known(i, codes, first, had)
        plug_P[i] = np.abs(_share(second, codes) - _share(first, codes)).sum() / 2
        gain_P[i], old_P[i] = _cross_fit(first, second, codes, known, rng)
    seen = ~np.isnan(gain_P)
    return Distance(
        value=mean_interval(gain_P[seen], level=level, bounds=(-1.0, 1.0)),
        plug_in=float(plug_P[seen].mean()),
        reranked=_part(old_P[seen], gain_P[seen], level),
        n_prompts=int(seen.sum()),
    )


def _by_prompt(openings: Openings, n_prompts: int) -> list[Ints]:
    order = np.argsort(openings.prompt_R, kind="stable")
    ends = np.cumsum(np.bincount(openings.prompt_R, minlength=n_prompts))
    return np.split(openings.opening_R[order], ends[:-1])


def _known(prompt: int, codes: Ints, base: Ints, had: Had | None) -> Bools:
    if had is None:
        return np.isin(codes, base)
    return np.array([had(prompt, int(code)) for code in codes], dtype=bool)


def _share(sample: Ints, codes: Ints) -> Floats:
    at = np.searchsorted(codes, sample)
    return np.bincount(at, minlength=codes.size) / sample.size


def _cross_fit(
    first: Ints, second: Ints, codes: Ints, known: Bools, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the gain of the openings chosen as gaining, and its part on known openings."""
    halves = [_halves(one, rng) for one in (first, second)]
    gain, old = 0.0, 0.0
    for chosen, measured in ((0, 1), (1, 0)):
        shift = _share(halves[1][chosen], codes) - _share(halves[0][chosen], codes)
        moved = _share(halves[1][measured], codes) - _share(halves[0][measured], codes)
        gain += float(moved[shift > 0].sum()) / 2
        old += float(moved[(shift > 0) & known].sum()) / 2
    return gain, old


def _halves(sample: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    mixed = rng.permutation(sample)
    return mixed[: sample.size // 2], mixed[sample.size // 2 :]


def _part(old_P: Floats, gain_P: Floats, level: float) -> Interval:
    """Return the ratio of means; undefined where the openings did not move."""
    if gain_P.size == 0 or gain_P.mean() <= 0:
        why = "the openings did not move: nothing to explain"
        return Interval(
            mean=np.nan, low=np.nan, high=np.nan, level=level, method="none", warnings=(why,)
        )
    return ratio_interval(old_P, gain_P, level=level, bounds=(-1.0, 1.0), span=(0.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class Mover:
    """An opening whose share changed: shares and success rates before and after, over prompts.

    change: of the share, with its interval. pass_before, pass_after: share of success among the
    rollouts that begin so; NaN where none does. n_before, n_after: how many do.
    """

    opening: int
    share_before: float
    share_after: float
    change: Interval
    pass_before: float
    pass_after: float
    n_before: int
    n_after: int


def top_movers(
    before: Openings, after: Openings, n_prompts: int, *, most: int = 10, level: float = 0.95
) -> list[Mover]:
    """Return the openings whose mean share over prompts changed most, largest first."""
    codes = np.unique(np.concatenate([before.opening_R, after.opening_R]))
    shares = [_shares_CP(one, codes, n_prompts) for one in (before, after)]
    both = ~np.isnan(shares[0][0]) & ~np.isnan(shares[1][0])
    shift = (shares[1] - shares[0])[:, both].mean(axis=1)
    return [
        _mover(before, after, int(codes[j]), shares[0][j, both], shares[1][j, both], level)
        for j in np.argsort(-np.abs(shift), kind="stable")[:most]
    ]


def _shares_CP(openings: Openings, codes: Ints, n_prompts: int) -> Floats:  # noqa: N802
    at = np.searchsorted(codes, openings.opening_R)
    count = np.zeros((codes.size, n_prompts))
    np.add.at(count, (at, openings.prompt_R), 1.0)
    total = count.sum(axis=0)
    return np.where(total > 0, count / np.maximum(total, 1), np.nan)


def _mover(
    before: Openings, after: Openings, code: int, old_P: Floats, new_P: Floats, level: float
) -> Mover:
    passed = [one.success_R[one.opening_R == code] for one in (before, after)]
    rates = [float(one.mean()) if one.size else float("nan") for one in passed]
    return Mover(
        opening=int(code),
        share_before=float(old_P.mean()),
        share_after=float(new_P.mean()),
        change=mean_interval(new_P - old_P, level=level, bounds=(-1.0, 1.0)),
        pass_before=rates[0],
        pass_after=rates[1],
        n_before=passed[0].size,
        n_after=passed[1].size,
    )


def code_openings(texts: Sequence[Sequence[str]]) -> tuple[list[Ints], tuple[str, ...]]:
    """Return opening codes of several samples, numbered alike, and the names."""
    names = tuple(sorted({text for one in texts for text in one}))
    code = {name: j for j, name in enumerate(names)}
    return [np.array([code[text] for text in one], dtype=np.int64) for one in texts], names
