"""The bets behind the guard: exact expectations, not simulations."""

from __future__ import annotations

from itertools import product
from math import comb, log

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from rewardable.guard.anchor import start_bound, student_quantile
from rewardable.guard.betting import (
    SHARES,
    fall_stakes,
    known_before,
    log_fall,
    log_rise,
    look_interval,
    lower_bound,
)
from rewardable.guard.blocks import bounded_blocks, support_blocks, variation_blocks
from rewardable.guard.watch import Purse, look_weight
from rewardable.metrics import pass_at_k, trainability

PAIRS = [(8, 0), (8, 1), (8, 4), (8, 7), (8, 8)]


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def shuffled_moments(n: int, c: int, k: int, size: int, rule: str) -> np.ndarray:
    """E[C(J, r)] over random orders, by drawing every placement of the successes once."""
    total, weight = np.zeros(size + 1), 0
    for places in product((0, 1), repeat=n):
        if sum(places) != c:
            continue
        blocks = [places[i * k : (i + 1) * k] for i in range(size)]
        value = [any(b) if rule == "support" else 0 < sum(b) < k for b in blocks]
        failed = size - sum(value)
        total += [comb(failed, r) for r in range(size + 1)]
        weight += 1
    return total / weight


@pytest.mark.parametrize(("n", "c"), PAIRS)
@pytest.mark.parametrize("k", [2, 3])
def test_moments_are_those_of_all_orders(n: int, c: int, k: int) -> None:
    support = support_blocks(ints([n]), ints([c]), k)
    variation = variation_blocks(ints([n]), ints([c]), k)
    assert support.size == n // k
    np.testing.assert_allclose(
        support.moment_PB[0], shuffled_moments(n, c, k, n // k, "support"), atol=1e-12
    )
    np.testing.assert_allclose(
        variation.moment_PB[0], shuffled_moments(n, c, k, n // k, "variation"), atol=1e-12
    )


def test_values_are_the_unbiased_estimates() -> None:
    n, c = ints([16, 16, 20, 9]), ints([0, 3, 20, 4])
    np.testing.assert_allclose(support_blocks(n, c, 8).value, pass_at_k(n, c, 8))
    np.testing.assert_allclose(variation_blocks(n, c, 8).value, trainability(n, c, 8))


def expected_factor(p: list[float], n: int, k: int, m: float, centre: np.ndarray) -> np.ndarray:
    """Exact expectation of one look's factor, over all counts of all prompts."""
    stakes = fall_stakes(m, centre, np.ones(len(p)))
    total = np.zeros(SHARES.size)
    pmf = [binom.pmf(np.arange(n + 1), n, one) for one in p]
    for counts in product(range(n + 1), repeat=len(p)):
        chance = np.prod([one[c] for c, one in zip(counts, pmf, strict=True)])
        blocks = support_blocks(np.full(len(p), n), ints(list(counts)), k)
        total += chance * np.exp(log_fall(blocks, m, centre, stakes))
    return total


def test_a_bet_gains_nothing_at_the_margin_however_prompts_differ() -> None:
    n, k = 4, 2
    p = [0.05, 0.4, 0.9]
    theta = float(np.mean([1 - (1 - one) ** k for one in p]))
    matched = np.array([1 - (1 - one) ** k for one in p])
    for centre in (np.zeros(3), matched, np.array([0.9, 0.1, 0.3])):
        assert (expected_factor(p, n, k, theta, centre) <= 1 + 1e-12).all()
    # where the centres fit, nothing is given away either
    np.testing.assert_allclose(expected_factor(p, n, k, theta, matched), 1.0, atol=1e-9)
    assert (expected_factor(p, n, k, theta + 0.3, matched) > 1.1).all()


def test_a_bet_on_capped_values_gains_nothing_at_the_margin() -> None:
    top, theta = np.array([1.0, 0.5]), np.array([0.6, 0.2])
    m, centre = float(theta.mean()), np.array([0.5, 0.3])
    stakes, total = fall_stakes(m, centre, top), 0.0
    for high in product((0, 1), repeat=2):
        chance = np.prod(np.where(high, theta / top, 1 - theta / top))
        blocks = bounded_blocks(np.array(high) * 9.0, top)  # cut off at the top
        total = total + chance * np.exp(log_fall(blocks, m, centre, stakes))
    assert (total <= 1 + 1e-12).all()


def test_rising_bets_gain_nothing_at_the_margin() -> None:
    n, k, p = 4, 2, [0.1, 0.7]
    m = float(np.mean([1 - (1 - one) ** k for one in p]))
    centre, total = np.array([0.3, 0.8]), 0.0
    for counts in product(range(n + 1), repeat=2):
        chance = np.prod([binom.pmf(c, n, one) for c, one in zip(counts, p, strict=True)])
        blocks = support_blocks(np.full(2, n), ints(list(counts)), k)
        total = total + chance * np.exp(log_rise(blocks, m, centre))
    assert (total <= 1 + 1e-12).all()


def test_missing_prompts_count_in_favour_of_the_run() -> None:
    n, c = ints([16, 0]), ints([0, 0])
    assert support_blocks(n, c, 8).value.tolist() == [0.0, 1.0]
    assert support_blocks(n, c, 8, missing=0.0).value.tolist() == [0.0, 0.0]


def test_the_weights_of_looks_never_sum_to_more_than_one() -> None:
    weights = [look_weight(look, 20) for look in range(1, 5000)]
    assert 0.99 < sum(weights) < 1.0


def test_student_quantile() -> None:
    for freedom in (10.0, 24.0, 100.0):
        for level in (0.9, 0.99, 0.999):
            exact = float(student.ppf(level, freedom))
            assert student_quantile(level, freedom) == pytest.approx(exact, rel=6e-3)


def test_the_start_is_bounded_from_below() -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(0.6, 1.2, 24)
    truth = float((1 - (1 - p) ** 8).mean())
    missed = 0
    for _ in range(120):
        looks = [support_blocks(np.full(24, 16), rng.binomial(16, p), 8) for _ in range(4)]
        missed += start_bound(looks, 0.1)[0] > truth
    assert missed <= binom.ppf(0.999, 120, 0.1)
    few = [support_blocks(np.full(12, 16), ints([0, 0, 0, 3] + [16] * 8), 8)] * 4
    bound, method = start_bound(few, 0.05)
    assert method.startswith("bets")
    assert 0.4 < bound < few[0].value.mean()
    assert bound == lower_bound(few, log(20))


def test_the_interval_of_a_look_holds_its_mean() -> None:
    rng = np.random.default_rng(2)
    p = rng.beta(1, 1, 16)
    truth, outside = float((1 - (1 - p) ** 8).mean()), 0
    for _ in range(60):
        start = support_blocks(np.full(16, 16), rng.binomial(16, p), 8)
        look = support_blocks(np.full(16, 16), rng.binomial(16, p), 8)
        low, high = look_interval(look, known_before([start], 16), log(10))
        assert low < look.value.mean() < high
        outside += not low <= truth <= high
    assert outside <= binom.ppf(0.999, 60, 0.2)


def margin_alarms(runs: int, looks: int, alpha: float, seed: int, shift: float = 0.0) -> int:
    """Runs that alarm although the mean stays ``shift`` above the margin, under many looks.

    The factor of a prompt depends on its count alone, so all factors are tabled once.
    """
    rng = np.random.default_rng(seed)
    prompts, n, k = 12, 8, 4
    p = rng.beta(1.0, 1.5, prompts)
    m = float((1 - (1 - p) ** k).mean()) - shift
    centre = known_before([support_blocks(np.full(prompts, n), rng.binomial(n, p), k)], prompts)
    stakes = fall_stakes(m, centre, np.ones(prompts))
    goal = m - centre.mean() + centre
    table = np.array(
        [
            [
                log_fall(support_blocks(ints([n]), ints([c]), k), goal[i], centre[[i]], stakes)
                for c in range(n + 1)
            ]
            for i in range(prompts)
        ]
    )
    wealth, spent = np.zeros((runs, SHARES.size)), 0.0
    alarmed = np.zeros(runs, dtype=bool)
    for look in range(1, looks + 1):
        weight = look_weight(look, 20)
        spent += weight
        counts = rng.binomial(n, p, (runs, prompts))
        factor = np.exp(table[np.arange(prompts), counts].sum(axis=1))
        wealth = (wealth + weight) * factor
        alarmed |= wealth.mean(axis=1) + 1 - spent >= 1 / alpha
    return int(alarmed.sum())


@pytest.mark.parametrize(("looks", "alpha"), [(20, 0.05), (200, 0.2)])
def test_many_looks_at_the_margin_are_paid_for(looks: int, alpha: float) -> None:
    runs = 2000
    assert margin_alarms(runs, looks, alpha, 3) <= binom.ppf(0.999, runs, alpha)
    # the same bets do find a fall
    assert margin_alarms(runs, 20, 0.05, 3, shift=-0.25) > 0.95 * runs


def test_a_purse_is_what_the_formula_says() -> None:
    purse = Purse()
    assert purse.e_value == 1.0
    assert purse.wealth == [0.0] * SHARES.size
