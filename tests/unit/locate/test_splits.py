"""Access and execution: exact splits of pass@1 and of coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError, DataError
from rewardable.locate.coverage_split import FamilyPool, PromptSample, split_coverage
from rewardable.locate.families import align, count_families, split_pass_at_1
from rewardable.metrics import LabelCounts, coverage


def sample(rng: np.random.Generator, access: list[float], execution: list[float], n: int):
    family_R = rng.choice(len(access), size=n, p=access)
    return family_R, rng.random(n) < np.array(execution)[family_R]


@given(seed=st.integers(0, 10_000), n=st.integers(1, 40))
@settings(max_examples=50)
def test_the_parts_sum_to_the_change_of_pass_at_1_whatever_was_seen(seed: int, n: int):
    rng = np.random.default_rng(seed)
    counts, passed = [], []
    for _ in range(2):
        prompt_R = np.repeat(np.arange(5), n)
        family_R = rng.integers(-1, 4, 5 * n)
        success_R = (rng.random(5 * n) < 0.4) & (family_R >= 0)
        counts.append(count_families(prompt_R, family_R, success_R, 5))
        passed.append(np.bincount(prompt_R, success_R, minlength=5) / n)
    split = split_pass_at_1(*align(counts))
    np.testing.assert_allclose(
        split.access_P + split.execution_P, passed[1] - passed[0], atol=1e-12
    )


def test_known_factors_give_known_parts():
    """Access moves from a family of execution 0.2 to one of 0.6; execution of the first rises."""
    before = count_families([0] * 10, [0] * 5 + [1] * 5, [1] + [0] * 4 + [1] * 3 + [0] * 2, 1)
    after = count_families([0] * 10, [0] * 2 + [1] * 8, [1, 0] + [1] * 4 + [0] * 4, 1)
    split = split_pass_at_1(*align([before, after]))
    # (0.2-0.5)(0.2+0.5)/2 + (0.8-0.5)(0.6+0.5)/2 and (0.5-0.2)(0.7)/2 + (0.5-0.6)(1.3)/2
    assert split.access_P[0] == pytest.approx(-0.105 + 0.165)
    assert split.execution_P[0] == pytest.approx(0.105 - 0.065)


def test_a_family_never_started_moves_access_alone_unless_its_forced_execution_is_known():
    before = count_families([0] * 4, [0, 0, 1, 1], [1, 0, 1, 1], 1)
    after = count_families([0] * 4, [0, 0, 0, 0], [1, 0, 1, 0], 1)
    aligned = align([before, after])
    split = split_pass_at_1(*aligned)
    assert (split.access_P[0], split.execution_P[0]) == (-0.25, 0.0)
    assert split.borrowed_P[0] == -0.5
    nan = float("nan")
    told = split_pass_at_1(*aligned, forced=(np.array([nan, nan]), np.array([nan, 0.0])))
    # family 1: access 0.5 -> 0, execution 1 -> 0 (forced): -0.5 * 0.5 and -1 * 0.25
    assert told.access_P[0] == pytest.approx(0.5 * 0.5 - 0.25)
    assert told.execution_P[0] == pytest.approx(-0.25)
    assert told.change_P[0] == split.change_P[0] == -0.25


def test_what_cannot_be_split_is_refused():
    with pytest.raises(DataError, match="start no family"):
        count_families([0], [-1], [True], 1)
    one = count_families([0], [0], [True], 1)
    with pytest.raises(DataError, match="align"):
        split_pass_at_1(one, count_families([0, 0], [0, 1], [True, True], 1))


def prompt_sample(family_R: np.ndarray, solution_R: np.ndarray) -> PromptSample:
    pools, started = {}, {}
    for family in np.unique(family_R).tolist():
        mine = solution_R[family_R == family]
        codes, found = np.unique(mine[mine >= 0], return_counts=True)
        pools[family] = FamilyPool(
            size=mine.size, found=dict(zip(map(str, codes), found.tolist(), strict=True))
        )
        started[family] = mine.size
    return PromptSample(n=family_R.size, started=started, pools=pools)


def draw(rng: np.random.Generator, access: np.ndarray, solution_FS: np.ndarray, n: int):
    family_R = rng.choice(access.size, size=n, p=access)
    cut_FS = np.cumsum(solution_FS, axis=1)
    u = rng.random(n)
    found = (u[:, None] > cut_FS[family_R]).sum(axis=1)
    return prompt_sample(family_R, np.where(found < solution_FS.shape[1], found, -1))


def exact(access: np.ndarray, solution_FS: np.ndarray, k: int) -> float:
    return float(np.mean(1 - (1 - access @ solution_FS) ** k))


def test_swapped_coverage_is_unbiased_where_pools_suffice():
    """120 pairs of samples from known factors; forced pools as large as the budget."""
    rng = np.random.default_rng(5)
    access = np.array([0.5, 0.3, 0.2]), np.array([0.85, 0.1, 0.05])
    solution = rng.dirichlet(np.ones(6), 3)[:, :4] * 0.8, rng.dirichlet(np.ones(6), 3)[:, :4]
    k, found = 16, []
    for _ in range(120):
        pair = []
        for a, e in zip(access, solution, strict=True):
            free = draw(rng, a, e, 64)
            pools = {f: draw(rng, np.eye(3)[f], e, 64).pools[f] for f in range(3)}
            pairs = {f: free.pools.get(f, FamilyPool(size=0)) for f in pools}
            merged = {
                f: FamilyPool(
                    size=pools[f].size + pairs[f].size,
                    found={
                        s: pools[f].found.get(s, 0) + pairs[f].found.get(s, 0)
                        for s in {*pools[f].found, *pairs[f].found}
                    },
                )
                for f in pools
            }
            pair.append(PromptSample(n=64, started=free.started, pools=merged))
        found.append(split_coverage([pair[0]], [pair[1]], [4], k, draws=16, seed=len(found)))
    value = np.concatenate([split.value_P2x2 for split in found])
    error = value.std(axis=0) / np.sqrt(len(value))
    truth = np.array([[exact(access[a], solution[e], k) for e in (0, 1)] for a in (0, 1)])
    assert np.abs((value.mean(axis=0) - truth) / error).max() < 4
    assert max(split.stretched_P2x2.max() for split in found) == 0


def test_unswapped_values_are_the_unbiased_coverage():
    rng = np.random.default_rng(1)
    one = draw(rng, np.array([0.6, 0.4]), np.array([[0.3, 0.2, 0.0], [0.1, 0.1, 0.4]]), 40)
    split = split_coverage([one], [one], [3], 10, draws=4000, seed=2)
    merged: dict[str, int] = {}
    for pool in one.pools.values():
        for code, count in pool.found.items():
            merged[code] = merged.get(code, 0) + count
    labels = LabelCounts(
        prompt_L=np.zeros(len(merged), dtype=np.int64), count_L=np.array(list(merged.values()))
    )
    told = coverage(labels, [3], [40], 10)
    np.testing.assert_allclose(split.value_P2x2[0], float(np.ravel(told)[0]), atol=0.004)
    assert split.change_P[0] == pytest.approx(0, abs=0.006)


def test_small_pools_are_stretched_and_said_to_be():
    few = PromptSample(n=8, started={0: 8}, pools={0: FamilyPool(size=8, found={"0": 4})})
    lone = PromptSample(n=8, started={1: 8}, pools={1: FamilyPool(size=2, found={"1": 1})})
    split = split_coverage([few], [lone], [2], 8, seed=0)
    assert split.value_P2x2[0, 1, 1] == pytest.approx((1 - 0.5**8) / 2)
    assert split.stretched_P2x2[0, 1, 1] == pytest.approx(6 / 8)
    with pytest.raises(ConfigError, match="lower k"):
        split_coverage([few], [lone], [2], 9)
