"""Intervals and bands: edges, exactness, clusters, widening, and that they cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from rewardable.metrics import (
    Band,
    binomial_interval,
    crossing,
    curve_band,
    fixed_prompts_interval,
    mean_interval,
    paired_band,
    paired_interval,
    pass_at_k,
    polarisation,
    polarisation_change,
    ratio_interval,
    support_dynamics,
    zero_bound,
)
from rewardable.metrics.bounds import betting_interval, betting_rejects
from rewardable.metrics.fixed import hoeffding_interval


def test_exact_binomial_interval_covers_everywhere():
    n = 23
    c = np.arange(n + 1)
    low, high = binomial_interval(np.full(n + 1, n), c)
    for p in np.linspace(0.001, 0.999, 97):
        covered = binom.pmf(c, n, p)[(low <= p) & (p <= high)].sum()
        assert covered >= 0.95 - 1e-9


def test_zero_bound_is_the_end_of_the_exact_interval():
    for n in (1, 8, 40, 100_000):
        assert zero_bound(n) == pytest.approx(binomial_interval([n], [0])[1][0])


def test_betting_bound_is_valid_for_rare_values_and_beats_no_knowledge():
    rng = np.random.default_rng(1)
    missed, widths = 0, []
    for _ in range(400):
        values = (rng.random(30) < 0.05) * rng.random(30)
        low, high = betting_interval(values[:, None], np.ones(30), 0.05)
        missed += not low[0] <= 0.025 <= high[0]
        widths.append(high[0] - low[0])
    assert missed <= 20
    assert np.mean(widths) < 0.3


def test_betting_test_and_interval_agree():
    values = np.random.default_rng(2).beta(1, 9, 25)
    low, high = betting_interval(values[:, None], np.ones(25), 0.05)
    inside = np.linspace(low[0] + 1e-4, high[0] - 1e-4, 9)
    assert not any(betting_rejects(values, m, 0.05) for m in inside)
    assert betting_rejects(values, low[0] - 1e-4, 0.05)
    assert betting_rejects(values, high[0] + 1e-4, 0.05)


def test_zero_width_never_happens():
    for values in (np.zeros(25), np.ones(25), np.full(500, 0.3)):
        found = mean_interval(values, bounds=(0, 1))
        assert found.low < found.high
        band = curve_band(np.tile(values[:, None], 4), bounds=(0, 1))
        assert (band.low_K < band.high_K).all()
        assert band.conservative_K.all()
        assert band.warnings


def test_unknown_bounds_without_spread_give_no_interval():
    found = mean_interval(np.full(30, 812.0))
    assert np.isnan([found.low, found.high]).all()
    assert "no known bounds" in found.warnings[0]
    few = mean_interval([812.0, 900.0, 700.0, 650.0])
    assert few.low < few.mean < few.high
    assert "too narrow" in few.warnings[0]


def test_few_informative_prompts_are_said_and_bounded():
    values = np.zeros(500)
    values[:7] = 0.4
    found = mean_interval(values)
    assert "only 7 informative" in found.warnings[0]
    assert "betting" in found.method
    normal = 1.96 * values.std() / np.sqrt(500)
    assert found.high - found.mean > normal


def test_clusters_widen_and_single_clusters_change_nothing():
    rng = np.random.default_rng(3)
    values = np.repeat(rng.random(40), 5)
    plain = mean_interval(values)
    grouped = mean_interval(values, clusters=np.repeat(np.arange(40), 5))
    assert grouped.high - grouped.low > 2 * (plain.high - plain.low)
    alone = mean_interval(values, clusters=np.arange(200))
    assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high))
    named = mean_interval(values, clusters=[f"problem {i}" for i in np.repeat(np.arange(40), 5)])
    assert named.low == pytest.approx(grouped.low)


def test_unequal_clusters_keep_the_mean_over_prompts():
    values = np.array([0.0] * 5 + [1.0] + [0.5] * 2)
    found = mean_interval(values, clusters=[0] * 5 + [1] + [2] * 2, bounds=(0, 1))
    assert found.mean == pytest.approx(values.mean())
    assert found.low < found.mean < found.high


def test_band_is_wider_than_pointwise_and_near_the_normal_one_for_one_column():
    rng = np.random.default_rng(4)
    values = rng.random((400, 1))
    band = curve_band(values, draws=20_000)
    assert band.critical == pytest.approx(1.96, abs=0.05)
    wide = curve_band(rng.random((400, 50)), draws=4000)
    assert wide.critical == pytest.approx(3.28, abs=0.12)
    assert (wide.low_K < wide.pointwise_low_K).all()


def test_band_of_smooth_curves_equals_the_plain_multiplier_bootstrap():
    rng = np.random.default_rng(5)
    n = np.full(120, 200)
    curves = pass_at_k(n, rng.binomial(200, rng.beta(0.5, 2, 120)), np.arange(1, 151))
    residual = curves - curves.mean(0)
    unit = residual / np.sqrt((residual**2).sum(0))
    largest = np.abs(rng.standard_normal((20_000, 120)) @ unit).max(1)
    band = curve_band(curves, draws=20_000, seed=6)
    assert band.critical == pytest.approx(np.quantile(largest, 0.95), abs=0.04)


def test_band_depends_on_seed_alone():
    values = np.random.default_rng(6).random((50, 9))
    one, two = curve_band(values, seed=1), curve_band(values, seed=1)
    assert one.critical == two.critical
    assert one.critical != curve_band(values, seed=2).critical


def test_undefined_columns_stay_undefined():
    n, c = np.array([8] * 30 + [4]), np.array([1, 4, 7] * 10 + [2])
    band = curve_band(pass_at_k(n, c, np.arange(1, 9)))
    assert np.isnan(band.mean_K).tolist() == [False] * 4 + [True] * 4
    assert np.isnan(band.high_K[4:]).all()
    assert "prompts [30]" in band.warnings[0]


def test_identical_policies_certify_nothing():
    values = np.random.default_rng(7).random((40, 16))
    band = paired_band(values, values, bounds=(0, 1))
    found = crossing(band, np.arange(1, 17))
    assert (band.low_K < 0).all()
    assert (band.high_K > 0).all()
    assert found.gain == found.loss == ()
    assert found.first_certified_loss is None
    assert found.may_be_never
    assert found.first_loss_set == tuple(range(1, 17))


def band_of(low, high):
    low, high = np.array(low), np.array(high)
    return Band(
        mean_K=(low + high) / 2,
        low_K=low,
        high_K=high,
        pointwise_low_K=low,
        pointwise_high_K=high,
        conservative_K=np.zeros(low.size, dtype=bool),
        level=0.95,
        critical=2.5,
        method="",
    )


def test_crossing_reads_the_band():
    low = [0.1, -0.1, 0.05, -0.1, -0.3, np.nan]
    high = [0.3, 0.1, 0.2, 0.1, -0.1, np.nan]
    found = crossing(band_of(low, high), [1, 2, 3, 4, 5, 6])
    assert (found.gain, found.loss) == ((1, 3), (5,))
    assert found.crosses
    assert found.crossing_set == (4, 5)
    assert found.first_certified_loss == 5
    assert found.first_loss_set == (2, 4, 5)
    sparse = crossing(band_of(low, high), [1, 2, 4, 8, 16, 32])
    assert sparse.first_loss_set is None
    assert sparse.first_certified_loss == 16
    backwards = crossing(band_of([-0.3, 0.1], [-0.1, 0.3]), [1, 2])
    assert not backwards.crosses
    assert backwards.crossing_set == ()


def test_ratio_interval_inverts_the_paired_test():
    rng = np.random.default_rng(8)
    under = rng.random(80)
    over = under * rng.uniform(0.5, 0.9, 80)
    found = ratio_interval(over, under)
    assert found.low < 0.7 < found.high
    assert found.high - found.low < 0.1
    for end in (found.low, found.high):
        gap = paired_interval(end * under, over)
        assert min(abs(gap.low), abs(gap.high)) < 1e-4
    none = ratio_interval(np.zeros(9), np.zeros(9))
    assert np.isnan(none.mean)
    assert "undefined" in none.warnings[0]


def test_support_dynamics_knows_what_no_change_looks_like():
    rng = np.random.default_rng(9)
    p = np.full(400, 0.03)
    before, after = rng.binomial(64, p), rng.binomial(64, p)
    found = support_dynamics(np.full(400, 64), before, np.full(400, 64), after, k=16)
    low, high = found.unchanged_retention
    assert low == high
    assert low == pytest.approx(1 - 0.97**16, abs=0.08)
    assert found.retention.low < 1 - 0.97**16 < found.retention.high
    assert found.preserved + found.shrunk == pytest.approx(pass_at_k(64, before, 16).mean())
    top = support_dynamics(np.full(400, 64), before, np.full(400, 64), after)
    assert top.unchanged_retention[0] < top.unchanged_retention[1]
    assert top.k == 64
    s, d = found.retention.mean, found.discovery.mean
    assert found.score.mean == pytest.approx(2 * s * d / (s + d))
    assert found.score.low <= found.score.mean <= found.score.high


def test_polarisation_ends_and_refusals():
    assert polarisation([16] * 60, [0, 16] * 30).mean == pytest.approx(1.0)
    equal = polarisation(np.full(200, 64), np.random.default_rng(1).binomial(64, 0.5, 200))
    assert equal.low < 0.01
    assert equal.high < 0.05
    nothing = polarisation([8] * 30, [0] * 30)
    assert np.isnan(nothing.mean)
    assert "undefined" in nothing.warnings[0]
    few = polarisation([8] * 10, [0, 4, 8, 4, 0, 8, 1, 7, 2, 4])
    assert few.low < few.mean < few.high
    middle = np.random.default_rng(2).binomial(16, 0.5, 60)
    sharp = np.where(np.arange(60) % 2, 16, 0) + np.where(np.arange(60) % 4 < 2, 1, -1)
    change = polarisation_change([16] * 60, middle, [16] * 60, np.clip(sharp, 0, 16))
    assert change.low > 0.5


def test_a_polarisation_that_few_successes_tell_may_have_fallen_to_zero():
    rng = np.random.default_rng(3)
    before = rng.binomial(64, 0.05 * rng.random(500))
    after = np.zeros(500, dtype=int)
    after[:5] = [2, 1, 1, 1, 1]
    first = polarisation(64, before)
    change = polarisation_change(64, before, 64, after)
    assert "betting" in polarisation(64, after).method
    assert change.low == pytest.approx(-first.high)
    assert change.high > 0.5


def test_fixed_prompts_are_narrower_than_a_population():
    rng = np.random.default_rng(10)
    p = rng.beta(0.5, 0.5, 200)
    c = rng.binomial(64, p)
    fixed = fixed_prompts_interval(64, c, 4)
    drawn = mean_interval(pass_at_k(64, c, 4))
    assert fixed.mean == pytest.approx(drawn.mean)
    assert fixed.high - fixed.low < 0.5 * (drawn.high - drawn.low)
    few = fixed_prompts_interval(8, [0, 0, 8, 3], 1)
    assert "Hoeffding" in few.method
    assert hoeffding_interval(0.0, 40, 0.05)[1] == pytest.approx(zero_bound(40), abs=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_levels_nest(level):
    values = np.random.default_rng(11).random(60)
    usual, other = mean_interval(values), mean_interval(values, level=level)
    assert (other.high - other.low > usual.high - usual.low) == (level > 0.95)
