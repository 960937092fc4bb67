"""Transitions: calls, exact tests, false discoveries, power, stopping rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

from rewardable.metrics import (
    StoppingRule,
    detection_power,
    needed_n,
    smallest_certified_loss,
    stopped_interval,
    transitions,
)
from rewardable.metrics.bounds import binomial_interval
from rewardable.metrics.changes import difference_interval
from rewardable.metrics.designs import design_law, fixed_rule
from rewardable.metrics.exact import fisher_p, null_law
from rewardable.metrics.pairs import design_p_values, design_power

CALLED = ("lost", "reduced", "gained", "raised")


def test_every_call_has_its_case():
    rows = [
        (64, 30, 64, 0, "lost"),
        (64, 50, 64, 10, "reduced"),
        (64, 0, 64, 30, "gained"),
        (64, 10, 64, 50, "raised"),
        (64, 20, 64, 22, "kept"),
        (64, 0, 64, 0, "absent"),
        (64, 1, 64, 0, "undecided"),
        (64, 0, 64, 2, "undecided"),
    ]
    columns = np.array([row[:4] for row in rows]).T
    found = transitions(*columns)
    assert found.calls == tuple(row[4] for row in rows)
    assert found.count("undecided") == 2
    assert np.isnan(found.absent_bound_P).tolist() == [call != "absent" for call in found.calls]
    assert (found.low_P <= found.high_P).all()
    assert "no proof of safety" in found.notes[0]


def test_p_values_equal_scipy_one_sided_doubled():
    rng = np.random.default_rng(0)
    n, m = rng.integers(1, 40, 50), rng.integers(1, 40, 50)
    c, d = rng.binomial(n, 0.4), rng.binomial(m, 0.5)
    found = fisher_p(n, c, m, d)
    for i in range(50):
        table = [[c[i], n[i] - c[i]], [d[i], m[i] - d[i]]]
        sides = [fisher_exact(table, alternative=side)[1] for side in ("less", "greater")]
        assert found[i] == pytest.approx(min(1.0, 2 * min(sides)), rel=1e-9)


def test_null_law_is_a_distribution_of_valid_p_values():
    law = null_law(20, 31, 17)
    assert law.mass_S[-1] == pytest.approx(1.0)
    assert (law.mass_S <= law.support_S + 1e-12).all()
    assert law.reach(np.array([0.0, 1.0])) == pytest.approx([0.0, 1.0])


def false_discovery_share(found, changed):
    called = np.array([call in CALLED for call in found.calls])
    return (called & ~changed).sum() / max(called.sum(), 1)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_false_discoveries_stay_below_the_level(share):
    rng = np.random.default_rng(1)
    shares, lost = [], 0
    for _ in range(150):
        p = rng.beta(0.4, 0.6, 60)
        changed = rng.random(60) < share
        q = np.where(changed, 0.0, p)
        found = transitions([48] * 60, rng.binomial(48, p), [48] * 60, rng.binomial(48, q))
        shares.append(false_discovery_share(found, changed & (p > 0)))
        lost += found.count("lost")
    assert np.mean(shares) <= 0.05 + 2 * np.std(shares) / np.sqrt(len(shares))
    assert (lost > 500) == (share > 0)


def test_dead_prompts_cost_no_power():
    alive = ([64] * 4, [12, 9, 30, 31], [64] * 4, [0, 0, 29, 33])
    with_dead = [
        np.append(column, np.full(500, x)) for column, x in zip(alive, (64, 0, 64, 0), strict=True)
    ]
    few, many = transitions(*alive), transitions(*with_dead)
    assert few.calls == many.calls[:4]
    assert few.q_P == pytest.approx(many.q_P[:4])


def test_difference_intervals_cover_exactly_enumerated():
    n, m = 16, 24
    c, d = (grid.reshape(-1) for grid in np.mgrid[0 : n + 1, 0 : m + 1])
    before, after = (np.full_like(c, n), c), (np.full_like(d, m), d)
    ends = binomial_interval(*before), binomial_interval(*after)
    low, high = difference_interval(before, after, *ends)
    for p in (0.01, 0.1, 0.3, 0.5, 0.8):
        for q in (0.0, 0.05, 0.3, 0.6, 0.97):
            mass = binom.pmf(c, n, p) * binom.pmf(d, m, q)
            inside = (low <= q - p + 1e-12) & (q - p - 1e-12 <= high)
            assert mass[inside].sum() >= 0.945


def test_power_equals_enumeration():
    n, m, p, q, alpha = 12, 15, 0.7, 0.1, 0.05
    expected = 0.0
    for c in range(n + 1):
        for d in range(m + 1):
            pair = [np.array([x]) for x in (n, c, m, d)]
            if d * n < c * m and fisher_p(*pair)[0] <= alpha:
                expected += binom.pmf(c, n, p) * binom.pmf(d, m, q)
    found = detection_power(n, p, q, alpha=alpha, n_after=m)
    assert found == pytest.approx(expected, abs=1e-10)


def test_power_of_the_documented_case_is_about_a_third():
    assert 0.28 < detection_power(64, 0.1) < 0.36
    for n in (8, 64, 256):
        least = smallest_certified_loss(n)
        assert detection_power(n, least) == pytest.approx(0.8, abs=1e-6)
    assert np.isnan(smallest_certified_loss(3))
    n = needed_n(0.1)
    assert detection_power(n, 0.1) >= 0.8 > detection_power(n - 1, 0.1)


def test_reported_power_is_what_one_more_prompt_would_have():
    found = transitions([64] * 50, [20] * 50, [64] * 50, [21] * 50)
    assert transitions([64], [0], [64], [0]).power == 0.0
    assert 0 < found.threshold < 0.05
    wanted = detection_power(64, 0.1, alpha=found.threshold)
    assert found.power == pytest.approx(wanted)
    least = [
        np.append(column, x) for column, x in zip(([64] * 50, [20] * 50), (64, 12), strict=True)
    ]
    more = transitions(*least, [64] * 51, [21] * 50 + [0])
    assert more.calls[-1] == "lost"


RULE = StoppingRule(successes=3, cap=24, first=6, step=6)


def test_stopped_intervals_cover_exactly_enumerated():
    law = design_law(RULE)
    low, high = stopped_interval(RULE, law.n_S, law.c_S)
    for p in np.linspace(0.002, 0.998, 60):
        covered = law.mass(np.array([p]))[0][(low <= p) & (p <= high)].sum()
        assert covered >= 0.95 - 1e-9
    fixed = fixed_rule(10)
    states = np.arange(11)
    ours = stopped_interval(fixed, np.full(11, 10), states)
    plain = binomial_interval(np.full(11, 10), states)
    np.testing.assert_allclose(ours, plain, atol=1e-9)


def test_stopped_p_values_are_valid_for_any_common_p():
    law = design_law(RULE)
    first, second = (grid.reshape(-1) for grid in np.mgrid[0 : law.n_S.size, 0 : law.n_S.size])
    states = ((law.n_S[first], law.c_S[first]), (law.n_S[second], law.c_S[second]))
    p_value = design_p_values(RULE, RULE, *states)
    for p in (0.003, 0.0517, 0.21, 0.4444, 0.83, 0.991):
        mass = law.mass(np.array([p]))[0]
        joint = mass[first] * mass[second]
        for alpha in (0.001, 0.01, 0.05, 0.2):
            assert joint[p_value <= alpha].sum() <= alpha * 1.01 + 1e-12


def test_stopped_transitions_call_a_real_loss_and_keep_quiet_otherwise():
    rule = StoppingRule(successes=8, cap=256, first=8, step=8)
    found = transitions(
        [24, 24, 256, 256], [9, 9, 0, 2], [256, 32, 256, 256], [0, 8, 0, 0],
        rule_before=rule, rule_after=rule,
    )  # fmt: skip
    assert found.calls == ("lost", "kept", "absent", "undecided")
    assert design_power(rule, rule, 0.1, 0.0, found.threshold) == pytest.approx(found.power)
    assert found.power > 0.99
    mixed = transitions([24] * 3, [9] * 3, [64] * 3, [0, 20, 30], rule_before=rule)
    assert mixed.calls[0] == "lost"
