"""No worse than by a margin: the arithmetic, and that too few prompts certify nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import non_inferiority, paired_interval

rates = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=60)


def test_golden_symmetric_spread_has_the_student_bound():
    change = np.tile([-0.05, 0.05], 500)
    found = non_inferiority(np.full(1000, 0.5), 0.5 + change, 0.01)
    error = change.std(ddof=1) / np.sqrt(1000)
    assert found.low == pytest.approx(-t.ppf(0.95, 999) * error, rel=2e-3)
    assert found.carried == pytest.approx(-found.low + norm.ppf(0.8) * error, rel=1e-9)
    assert found.chance == pytest.approx(norm.cdf(0.01 / error))
    assert found.certified
    assert found.least_margin == -found.low
    assert found.needed == np.ceil(1000 * (found.carried / 0.01) ** 2)


def test_no_difference_on_few_prompts_is_no_certificate():
    same = np.linspace(0.1, 0.9, 12)
    found = non_inferiority(same, same, 0.01)
    assert found.difference == 0
    assert not found.certified
    assert found.carried > 0.01
    assert found.needed > 12


def test_the_needed_number_of_prompts_carries_the_margin():
    rng = np.random.default_rng(3)
    before = rng.uniform(size=200)
    after = np.clip(before + rng.normal(0, 0.1, size=200), 0, 1)
    few = non_inferiority(before, after, 0.01)
    times = -(-few.needed // 200)
    many = non_inferiority(np.tile(before, times), np.tile(after, times), 0.01)
    assert few.carried > 0.01 >= many.carried


@settings(max_examples=40, deadline=None)
@given(rates, st.floats(0.001, 0.5))
def test_certified_is_exactly_a_bound_above_the_margin(rows, margin):
    before, after = np.array(rows).T
    found = non_inferiority(before, after, margin)
    assert found.certified == (found.low > -margin)
    assert found.low <= found.difference + 1e-9
    assert found.least_margin == max(0.0, -found.low)
    assert found.low == paired_interval(before, after, level=0.9).low


@settings(max_examples=25, deadline=None)
@given(rates)
def test_a_wider_margin_loses_no_certificate(rows):
    before, after = np.array(rows).T
    narrow, wide = (non_inferiority(before, after, margin) for margin in (0.02, 0.2))
    assert wide.certified or not narrow.certified
    assert wide.chance >= narrow.chance


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    true, misses = -0.02, 0
    for _ in range(400):
        before = rng.binomial(16, 0.5, size=64) / 16
        after = rng.binomial(16, 0.5 + true, size=64) / 16
        misses += non_inferiority(before, after, 0.01).low > true
    assert misses / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_what_cannot_be_meant_is_refused():
    for margin in (0.0, -0.01, float("nan")):
        with pytest.raises(ConfigError, match="margin"):
            non_inferiority([0.5, 0.5], [0.5, 0.5], margin)
    with pytest.raises(ConfigError, match="level"):
        non_inferiority([0.5], [0.5], 0.01, level=0.4)
    with pytest.raises(DataError, match="pair them"):
        non_inferiority([0.5], [0.5, 0.5], 0.01)
