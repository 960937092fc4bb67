"""Sampled votes, model masses, and clusters where whole curves and ratios are concerned."""

from __future__ import annotations

import numpy as np
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import (
    LabelCounts,
    end_masses,
    extrapolate,
    maj_at_k,
    ratio_interval,
    refit_mixture,
    support_dynamics,
)
from rewardable.metrics.mixture import bootstrap_ends
from rewardable.metrics.ratios import find_edge, scaled_difference


def answers_of(counts):
    """LabelCounts of prompts whose answers were given so often."""
    sizes = [len(own) for own in counts]
    return LabelCounts(
        prompt_L=np.repeat(np.arange(len(counts)), sizes), count_L=np.concatenate(counts)
    )


@pytest.mark.parametrize("ties", ["split", "wrong"])
def test_sampled_votes_meet_the_exact_ones(ties):
    counts = [[3, 2, 1], [1, 1, 1, 1], [4, 4], [2], [5]]
    right = np.array([1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0], dtype=bool)
    n, ks = [8, 6, 8, 5, 5], [1, 2, 3, 5, 8]
    exact = maj_at_k(answers_of(counts), right, n, ks, ties=ties)
    drawn = maj_at_k(answers_of(counts), right, n, ks, ties=ties, draws=4000, seed=1)
    assert np.array_equal(np.isnan(exact), np.isnan(drawn))
    assert np.nanmax(np.abs(exact - drawn)) < 0.035
    again = maj_at_k(answers_of(counts), right, n, ks, ties=ties, draws=50, seed=1)
    same = maj_at_k(answers_of(counts), right, n, ks, ties=ties, draws=50, seed=1)
    assert np.array_equal(again, same, equal_nan=True)


def test_sampled_votes_do_not_need_sorted_labels():
    counts = answers_of([[3, 2], [1, 4]])
    right = np.array([True, False, True, False])
    order = np.array([3, 0, 2, 1])
    mixed = LabelCounts(prompt_L=counts.prompt_L[order], count_L=counts.count_L[order])
    plain = maj_at_k(counts, right, [6, 5], [3, 5], draws=2000)
    found = maj_at_k(mixed, right[order], [6, 5], [3, 5], draws=2000)
    assert found == pytest.approx(plain, abs=0.05)
    exact = maj_at_k(mixed, right[order], [6, 5], [3, 5])
    assert exact == pytest.approx(maj_at_k(counts, right, [6, 5], [3, 5]))


def test_a_vote_of_nobody_is_never_right():
    silent = answers_of([[1]])
    assert maj_at_k(silent, [True], [4], [1, 4], draws=400)[0] == pytest.approx([0.25, 1], abs=0.08)


def test_masses_near_the_ends_hold_the_truth_and_say_what_n_cannot_tell():
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(12):
        p = rng.choice([0.0, 0.5, 1.0], size=120, p=[0.3, 0.5, 0.2])
        found = end_masses([32] * 120, rng.binomial(32, p), seed=seed, draws=60)
        inside += found.near_zero.low <= 0.3 <= found.near_zero.high
        inside += found.near_one.low <= 0.2 <= found.near_one.high
        assert found.near_zero.method.startswith("MODEL")
        assert "the mass at exactly 0 is not identified" in found.near_zero.warnings[0]
    assert inside >= 21
    with pytest.raises(ConfigError, match="edge"):
        end_masses([8] * 4, [1] * 4, edge=2.0)


def test_no_prompt_at_an_end_is_no_certainty():
    found = end_masses([32] * 60, [16] * 60, draws=20)
    assert found.near_one.mean == pytest.approx(0, abs=1e-6)
    # 0 of 60 prompts: at least the exact binomial bound
    assert found.near_one.high >= 0.0596
    assert bootstrap_ends(np.full(50, 0.5), 0.5, 100, 0.05) == (0.5, 0.5)


def test_shared_refits_give_the_same_figures():
    rng = np.random.default_rng(0)
    n, c = [16] * 60, rng.binomial(16, rng.beta(1, 2, 60))
    shared = refit_mixture(n, c, seed=4, draws=40)
    one, two = (extrapolate(n, c, [64], seed=4, draws=40, refits=r) for r in (None, shared))
    assert (one.low_K, one.mean_K, one.high_K) == (two.low_K, two.mean_K, two.high_K)
    alone, given = end_masses(n, c, seed=4, draws=40), end_masses(n, c, refits=shared)
    assert alone == given


@pytest.mark.parametrize("model", ["npmle", "beta"])
def test_clusters_widen_an_extrapolation(model):
    rng = np.random.default_rng(1)
    c = np.repeat(rng.binomial(16, rng.beta(2, 2, 40)), 6)
    n, source = [16] * c.size, np.repeat(np.arange(40), 6)
    plain = extrapolate(n, c, [32], model=model, draws=24)
    wide = extrapolate(n, c, [32], model=model, draws=24, clusters=source)
    assert wide.mean_K == pytest.approx(plain.mean_K)
    assert (wide.high_K - wide.low_K)[0] > 1.5 * (plain.high_K - plain.low_K)[0]
    with pytest.raises(DataError, match="clusters"):
        extrapolate(n, c, [32], draws=10, clusters=[1, 2])


def test_support_dynamics_sum_the_units_of_a_cluster():
    rng = np.random.default_rng(2)
    before = rng.binomial(8, rng.beta(1, 3, 300))
    after = rng.binomial(8, rng.beta(1, 3, 300))
    n, source = [8] * 300, rng.integers(0, 60, 300)
    found = support_dynamics(n, before, n, after, k=4, clusters=source)
    plain = support_dynamics(n, before, n, after, k=4)
    for name in ("retention", "discovery", "net_change"):
        assert getattr(found, name).mean == pytest.approx(getattr(plain, name).mean)
        assert "60 prompts" in getattr(found, name).method
    copies = [np.repeat(part, 5) for part in (n, before, n, after)]
    wide = support_dynamics(*copies, k=4, clusters=np.repeat(np.arange(300), 5))
    assert wide.retention.low == pytest.approx(plain.retention.low, abs=1e-6)
    assert wide.net_change.high == pytest.approx(plain.net_change.high, abs=1e-6)
    with pytest.raises(DataError, match="clusters must have 300 rows"):
        support_dynamics(n, before, n, after, k=4, clusters=[1])


@pytest.mark.parametrize("size", [6, 40, 150])
@pytest.mark.parametrize("share", [0.05, 0.4, 1.0])
def test_ratio_ends_are_those_of_the_inverted_interval(size, share):
    rng = np.random.default_rng(size)
    under = rng.random(size) * (rng.random(size) < share)
    under[0] = 0.5
    over = under * rng.random(size)
    told = {"level": 0.95, "clusters": None, "bounds": (0.0, 1.0)}
    found = ratio_interval(over, under, span=(0.0, 1.0))
    low = find_edge(lambda t: scaled_difference(over, under, t, **told).low > 0, 0.0, found.mean)
    high = find_edge(lambda t: scaled_difference(over, under, t, **told).high < 0, 1.0, found.mean)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)
