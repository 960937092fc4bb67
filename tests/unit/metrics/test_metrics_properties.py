"""Properties that hold for any counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from rewardable.metrics import (
    best_at_k,
    count_labels,
    coverage,
    distinct_at_k,
    mean_interval,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    trainability,
    transitions,
)
from rewardable.metrics.subsets import log_miss

counted = st.integers(1, 300).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
many = st.lists(counted, min_size=1, max_size=12)


@given(many)
def test_pass_at_k_is_monotone_and_bounded_and_exact_at_the_ends(rows):
    n, c = np.array(rows).T
    ks = np.arange(1, n.max() + 2)
    value = pass_at_k(n, c, ks)
    assert np.isnan(value).tolist() == (ks[None, :] > n[:, None]).tolist()
    for i, (own_n, own_c) in enumerate(rows):
        curve = value[i, :own_n]
        assert (curve >= 0).all()
        assert (curve <= 1).all()
        assert (np.diff(curve) >= -1e-15).all()
        np.testing.assert_allclose(curve[0], own_c / own_n, atol=1e-15)
        assert curve[-1] == float(own_c > 0)


@given(many, st.integers(1, 300))
def test_pass_hat_k_mirrors_pass_at_k(rows, k):
    n, c = np.array(rows).T
    np.testing.assert_allclose(pass_hat_k(n, c, k), 1 - pass_at_k(n, n - c, k), atol=1e-14)


@given(many, st.integers(2, 32))
def test_trainability_is_bounded_and_symmetric(rows, group):
    n, c = np.array(rows).T
    value = trainability(n, c, group)
    np.testing.assert_allclose(value, trainability(n, n - c, group), atol=1e-14)
    assert np.nanmin(np.append(value, 0)) >= -1e-15
    assert np.nanmax(np.append(value, 0)) <= 1


@given(many, st.randoms(use_true_random=False))
def test_order_of_prompts_does_not_matter(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    first = pass_at_k(*np.array(rows).T, [1, 2])
    second = pass_at_k(*np.array(shuffled).T, [1, 2])
    np.testing.assert_allclose(np.sort(first, axis=0), np.sort(second, axis=0))
    a, b = first[:, 0], second[:, 0]
    one, two = mean_interval(a), mean_interval(b)
    np.testing.assert_allclose([one.low, one.high], [two.low, two.high], atol=1e-9)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_best_at_k_runs_from_mean_to_maximum(scores, random):
    ks = list(range(1, len(scores) + 1))
    value = best_at_k(scores, [0] * len(scores), 1, ks)[0]
    np.testing.assert_allclose(value[0], np.mean(scores), atol=1e-9)
    np.testing.assert_allclose(value[-1], max(scores), atol=1e-9)
    assert (np.diff(value) >= -1e-9).all()
    mixed = list(scores)
    random.shuffle(mixed)
    np.testing.assert_allclose(best_at_k(mixed, [0] * len(mixed), 1, ks)[0], value, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4)), min_size=1, max_size=40))
def test_distinct_labels_grow_to_what_was_seen(rows):
    prompt, code = np.array(rows).T
    n = np.bincount(prompt, minlength=4)
    seen = count_labels(prompt, code, 4)
    distinct = np.bincount(seen.prompt_L, minlength=4)
    for i in range(4):
        if n[i]:
            curve = distinct_at_k(seen, n, np.arange(1, n[i] + 1))[i]
            assert (np.diff(curve) >= -1e-12).all()
            np.testing.assert_allclose(curve[-1], distinct[i], atol=1e-12)
            assert curve[0] <= 1 + 1e-12
    full = coverage(seen, np.full(4, 5.0), n, 1)
    assert np.nanmax(np.append(full, 0)) <= 0.2 + 1e-12


@given(many, many)
@settings(max_examples=40, deadline=None)
def test_transitions_mirror_when_the_policies_are_swapped(rows, others):
    size = min(len(rows), len(others))
    before, after = np.array(rows[:size]).T, np.array(others[:size]).T
    forth, back = transitions(*before, *after), transitions(*after, *before)
    swap = {"lost": "gained", "gained": "lost", "reduced": "raised", "raised": "reduced"}
    assert tuple(swap.get(call, call) for call in forth.calls) == back.calls
    np.testing.assert_allclose(forth.p_P, back.p_P, rtol=1e-6)
    np.testing.assert_allclose(forth.low_P, -back.high_P, atol=1e-12)
    assert (forth.q_P >= forth.p_P - 1e-12).sum() >= 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
@settings(deadline=None)
def test_intervals_hold_their_mean_and_stay_in_range(values):
    found = mean_interval(values, bounds=(0, 1))
    assert 0 <= found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high <= 1
    assert found.high - found.low > 0
    change = paired_interval(values, values[::-1], bounds=(0, 1))
    assert -1 <= change.low <= change.mean + 1e-12
    assert change.mean - 1e-12 <= change.high <= 1
    assert change.high - change.low > 0


@given(st.integers(1, 100_000), st.data())
@settings(max_examples=300)
def test_log_space_agrees_with_gammaln_where_that_is_exact_enough(n, data):
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    found = log_miss(np.array([n]), np.array([c]), np.array([k]))[0]
    if n - c < k:
        assert found == -np.inf
        return
    plain = gammaln(n - c + 1) - gammaln(n - c - k + 1) - gammaln(n + 1) + gammaln(n - k + 1)
    np.testing.assert_allclose(found, plain, rtol=1e-7, atol=2e-8)


def test_log_space_is_exact_at_large_n():
    from fractions import Fraction
    from math import comb, log

    for n, c, k in [(100_000, 3, 50_000), (99_999, 40_000, 7), (65_536, 1, 65_535), (5000, 33, 33)]:
        exact = Fraction(comb(n - c, k), comb(n, k))
        logarithm = log(exact.numerator) - log(exact.denominator)
        found = log_miss(np.array([n]), np.array([c]), np.array([k]))[0]
        np.testing.assert_allclose(np.exp(found), float(exact), rtol=1e-12)
        np.testing.assert_allclose(found, logarithm, rtol=1e-9)
