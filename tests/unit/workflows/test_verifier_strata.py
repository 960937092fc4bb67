"""Allocation and weighted error rates, against figures worked out by hand and simulated judging."""

from __future__ import annotations

import numpy as np
import pytest

from rewardable.errors import ConfigError
from rewardable.metrics import binomial_interval
from rewardable.workflows.verifiers.strata import (
    Stratum,
    Tallied,
    allocate,
    error_rate,
    errors_of,
)

BOTH, FIRST = Stratum("correct", "correct"), Stratum("correct", "wrong")
SECOND, NONE = Stratum("wrong", "correct"), Stratum("wrong", "wrong")
SIZES = {BOTH: 5000, FIRST: 3, SECOND: 400, NONE: 9000}


def test_half_of_the_sample_goes_where_the_verifiers_differ():
    drawn = allocate(SIZES, 100)
    assert drawn == {FIRST: 3, SECOND: 47, BOTH: 25, NONE: 25}


def test_what_one_side_cannot_fill_goes_to_the_other():
    assert allocate({BOTH: 4, SECOND: 500}, 100) == {BOTH: 4, SECOND: 96}
    assert allocate({BOTH: 500, SECOND: 4}, 100) == {BOTH: 96, SECOND: 4}
    assert allocate({BOTH: 5, SECOND: 4}, 100) == {BOTH: 5, SECOND: 4}
    assert sum(allocate({Stratum("correct", ""): 50, Stratum("wrong", ""): 9}, 20).values()) == 20


def test_a_sample_too_small_for_the_strata_is_refused():
    with pytest.raises(ConfigError, match="at least 8"):
        allocate(SIZES, 7)


STRATA = {
    BOTH: Tallied(size=5000, right=24, wrong=1),
    FIRST: Tallied(size=3, right=1, wrong=2),
    SECOND: Tallied(size=400, right=40, wrong=5, skipped=2),
    NONE: Tallied(size=9000, right=0, wrong=25),
}


def test_rates_are_weighted_by_the_size_of_the_strata():
    false_correct = error_rate(STRATA, errors_of(STRATA, "own", ["correct"]), 30)
    assert false_correct.value == pytest.approx((5000 * 1 / 25 + 3 * 2 / 3) / 5003)
    low, high = binomial_interval([25], [1])  # FIRST was judged whole: it adds no doubt
    assert false_correct.low == pytest.approx((5000 * low[0] + 2) / 5003)
    assert false_correct.high == pytest.approx((5000 * high[0] + 2) / 5003)
    false_wrong = error_rate(STRATA, errors_of(STRATA, "own", ["wrong"]), 30)
    assert false_wrong.value == pytest.approx(400 / 9400 * 40 / 45)
    assert (false_wrong.n_graded, false_wrong.n_ungraded) == (70, 2)
    assert "2 rows skipped" in false_wrong.warnings[0]


def test_the_twin_is_judged_by_the_same_rows():
    false_correct = error_rate(STRATA, errors_of(STRATA, "twin", ["correct"]), 30)
    assert false_correct.value == pytest.approx((5000 * 1 / 25 + 400 * 5 / 45) / 5400)


def test_a_stratum_without_judgements_leaves_the_rate_open_and_the_interval_wide():
    open_ = {**STRATA, BOTH: Tallied(size=5000)}
    rate = error_rate(open_, errors_of(open_, "own", ["correct"]), 3)
    assert rate.value is None
    assert rate.low == pytest.approx(2 / 5003)
    assert rate.high == pytest.approx((5000 + 2) / 5003)
    assert "nothing judged yet of correct/correct" in rate.warnings
    nothing = error_rate({NONE: STRATA[NONE]}, {}, 0)
    assert (nothing.value, nothing.low) == (None, None)


def test_the_interval_covers_the_true_rate_under_simulated_judging():
    rng = np.random.default_rng(5)
    truth = {BOTH: 0.04, FIRST: 0.5, SECOND: 0.15, NONE: 0.02}  # share of errors in each stratum
    n = allocate(SIZES, 100)
    names = errors_of(SIZES, "own", ["correct", "wrong"])
    wrong = {one: round(truth[one] * size) for one, size in SIZES.items()}
    true_rate = sum(wrong.values()) / sum(SIZES.values())
    covered, values = 0, []
    for _ in range(400):
        strata = {}
        for one, size in SIZES.items():
            errors = int(rng.hypergeometric(wrong[one], size - wrong[one], n[one]))
            sides = {"right": errors, "wrong": n[one] - errors}
            if names[one] == "wrong":
                sides = {"right": n[one] - errors, "wrong": errors}
            strata[one] = Tallied(size=size, **sides)
        rate = error_rate(strata, names, 50)
        covered += rate.low <= true_rate <= rate.high
        values.append(rate.value)
    assert covered / 400 >= 0.95
    assert np.mean(values) == pytest.approx(true_rate, abs=0.004)
