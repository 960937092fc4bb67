"""The change of coverage at a budget, split into access and execution under swapped factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import Interval, ratio_interval
from rewardable.metrics.subsets import log_miss

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FamilyPool:
    """Completions of one prompt that start one family: how many, and which solutions they found.

    size: completions (free ones that start the family, and forced ones). found: solution ->
    completions that are this solution.
    """

    size: int
    found: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptSample:
    """One prompt under one policy.

    started: family code -> free rollouts that start it. n: free rollouts, those that start no
    family included. pools: family code -> completions from which executions are drawn.
    """

    n: int
    started: Mapping[int, int]
    pools: Mapping[int, FamilyPool]


@dataclass(frozen=True, kw_only=True, eq=False)
class CoverageSplit:
    """Coverage at k by prompt under (access of, execution of), and the symmetric parts.

    value_P2x2: [P, access, execution], 0 before and 1 after. stretched_P2x2: expected share of
    the draws of a family beyond its pool's size: where it is not small the value is a plug-in,
    biased downwards for rare solutions.
    """

    value_P2x2: Floats
    stretched_P2x2: Floats

    @property
    def access_P(self) -> Floats:  # noqa: N802
        """The part of the change that access makes."""
        v = self.value_P2x2
        return ((v[:, 1, 0] - v[:, 0, 0]) + (v[:, 1, 1] - v[:, 0, 1])) / 2

    @property
    def execution_P(self) -> Floats:  # noqa: N802
        """The part of the change that execution makes."""
        v = self.value_P2x2
        return ((v[:, 0, 1] - v[:, 0, 0]) + (v[:, 1, 1] - v[:, 1, 0])) / 2

    @property
    def change_P(self) -> Floats:  # noqa: N802
        """The whole change: the sum of both parts."""
        return self.value_P2x2[:, 1, 1] - self.value_P2x2[:, 0, 0]


def split_coverage(
    before: Sequence[PromptSample],
    after: Sequence[PromptSample],
    totals: Sequence[int],
    k: int,
    *,
    draws: int = 64,
    seed: int = 0,
) -> CoverageSplit:
    """Split the change of coverage at ``k`` rollouts, by prompt.

    For every pair (whose access, whose execution): k starts are drawn without replacement from
    the first policy's free rollouts, then for each family as many completions without replacement
    from the second policy's pool; the expected share of the ``totals`` solutions found, averaged
    over ``draws`` (the same starts serve both executions). With one policy in both places this is
    the unbiased estimate of its coverage at k. A pool too small for the draws is stretched: drawn
    with replacement, and counted in ``stretched_P2x2``; an empty pool is borrowed from the other
    policy.

    Raises ConfigError for k above a prompt's n, DataError for lists of different length.
    """
    if not len(before) == len(after) == len(totals):
        raise DataError(f"got {len(before)}, {len(after)} samples and {len(totals)} totals.")
    short = [i for i, pair in enumerate(zip(before, after, strict=True)) if min_n(pair) < k]
    if short:
        raise ConfigError(f"k={k} exceeds the free rollouts of prompts {short[:5]}; lower k.")
    value, stretched = (np.zeros((len(totals), 2, 2)) for _ in range(2))
    rng = np.random.default_rng(seed)
    for i, (pair, total) in enumerate(zip(zip(before, after, strict=True), totals, strict=True)):
        families = sorted({family for one in pair for family in (*one.started, *one.pools)})
        for a, access in enumerate(pair):
            starts_DF = _starts(access, families, k, draws, rng)
            for e in (0, 1):
                pools = [_pool(pair[e], pair[1 - e], family) for family in families]
                found, beyond = _expected(starts_DF, pools)
                value[i, a, e] = found / total
                stretched[i, a, e] = beyond / k
    return CoverageSplit(value_P2x2=value, stretched_P2x2=stretched)


def min_n(pair: tuple[PromptSample, PromptSample]) -> int:
    """Return the smaller number of free rollouts."""
    return min(one.n for one in pair)


def _starts(
    sample: PromptSample, families: Sequence[int], k: int, draws: int, rng: np.random.Generator
) -> Ints:
    counts = [sample.started.get(family, 0) for family in families]
    rest = sample.n - sum(counts)
    drawn = rng.multivariate_hypergeometric([*counts, rest], k, size=draws)
    return drawn[:, :-1].astype(np.int64)


def _pool(own: PromptSample, other: PromptSample, family: int) -> FamilyPool:
    pool = own.pools.get(family)
    if pool is None or pool.size == 0:
        pool = other.pools.get(family)
    return pool or FamilyPool(size=0)


def _expected(starts_DF: Ints, pools: Sequence[FamilyPool]) -> tuple[float, float]:
    """Return the expected number of solutions found, and of draws beyond a pool's size."""
    solutions = sorted({code for pool in pools for code in pool.found})
    column = {code: j for j, code in enumerate(solutions)}
    log_miss_DS = np.zeros((starts_DF.shape[0], len(solutions)))
    beyond = 0.0
    for starts_D, pool in zip(starts_DF.T, pools, strict=True):
        beyond += float(np.maximum(starts_D - pool.size, 0).mean())
        for code, count in pool.found.items():
            log_miss_DS[:, column[code]] += _log_miss(pool.size, count, starts_D)
    return float((1.0 - np.exp(log_miss_DS)).sum(axis=1).mean()), beyond


def _log_miss(size: int, count: int, draws_D: Ints) -> Floats:
    """Return log C(size-count, d) / C(size, d), with replacement where d exceeds the pool."""
    sizes_D, counts_D = np.full_like(draws_D, size), np.full_like(draws_D, count)
    without = log_miss(sizes_D, counts_D, np.minimum(draws_D, size))
    each = np.log1p(-count / size) if count < size else -1e9
    return np.where(draws_D <= size, without, draws_D * each)


SHARE = "access part over change of coverage"


def access_share(access_P: Floats, change_P: Floats, level: float) -> Interval:
    """Return which part of a change of coverage access makes: 1 is all of it, 0 nothing.

    A ratio of means; where the change may be 0 its interval is unbounded, and says so.
    """
    sign = 1.0 if change_P.mean() >= 0 else -1.0
    return ratio_interval(
        sign * access_P, sign * change_P, level=level, bounds=(-1.0, 1.0), span=(-10.0, 10.0)
    )
