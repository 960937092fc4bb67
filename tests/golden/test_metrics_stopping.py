"""Adaptive budgets against brute force: every path of small rules, alone and as a pair."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from rewardable.metrics import (
    StoppingRule,
    pass_at_k,
    pass_hat_k,
    stopped_interval,
    trainability,
    transitions,
)
from rewardable.metrics.designs import design_law, expected_rollouts
from rewardable.metrics.pairs import design_p_values, pair_interval, pair_law

RULES = [
    StoppingRule(successes=2, cap=9, give_up=4),
    StoppingRule(successes=3, cap=12, first=3, step=3, give_up=6),
    StoppingRule(successes=4, cap=10, first=2, step=2, give_up=2),
    StoppingRule(successes=5, cap=11, first=4, step=3, give_up=11),
]
PAIRED = StoppingRule(successes=2, cap=8, first=2, step=1, give_up=3)


def walk(rule, draws):
    """Return the final state by asking look by look, as sampling does."""
    n = c = 0
    while (more := rule.wants_more(n, c)) > 0:
        c += sum(draws[n : n + more])
        n += more
    return n, c


@pytest.mark.parametrize("rule", RULES)
def test_final_states_and_path_counts_equal_brute_force(rule):
    paths = Counter()
    for draws in product((0, 1), repeat=rule.cap):
        n, c = walk(rule, draws)
        paths[n, c] += 2.0 ** -(rule.cap - n)
        assert rule.follow(draws) == (n, c, 0)
        assert rule.follow(draws[: n - 1])[2] == 1
    law = design_law(rule)
    found = dict(zip(zip(law.n_S, law.c_S, strict=True), np.exp(law.log_paths_S), strict=True))
    assert found == pytest.approx(paths)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("p", [0.0, 0.03, 0.2, 0.5, 0.9, 1.0])
def test_estimates_under_giving_up_are_unbiased_and_undefined_beyond(rule, p):
    law = design_law(rule)
    mass = law.mass(np.array([p]))[0]
    assert mass.sum() == pytest.approx(1.0)
    assert expected_rollouts(rule, np.array([p]))[0] == pytest.approx(mass @ law.n_S)
    ks = np.arange(1, rule.cap + 1)
    found = mass @ pass_at_k(law.n_S, law.c_S, ks, rule)
    within = ks <= rule.widest
    assert found[within] == pytest.approx(1 - (1 - p) ** ks[within])
    assert np.isnan(found[~within]).all()
    all_right = mass @ pass_hat_k(law.n_S, law.c_S, ks, rule)
    within = ks <= max(rule.first, rule.successes - 1)
    assert all_right[within] == pytest.approx(p ** ks[within], abs=1e-12)
    assert np.isnan(all_right[~within]).all()
    for group in range(2, rule.first + 1):
        assert mass @ trainability(law.n_S, law.c_S, group, rule) == pytest.approx(
            1 - p**group - (1 - p) ** group, abs=1e-12
        )


def test_the_naive_estimate_is_biased_where_the_rule_is_ignored():
    rule = StoppingRule(successes=1, cap=64)
    p, law = 0.1, design_law(rule)
    mass = law.mass(np.array([p]))[0]
    naive = mass @ (law.c_S / law.n_S)
    assert naive == pytest.approx(0.256, abs=0.001)
    assert mass @ pass_at_k(law.n_S, law.c_S, 1, rule) == pytest.approx(p)
    truth = 1 - 0.9**8
    assert mass @ (1 - (1 - law.c_S / law.n_S) ** 8) > truth + 0.08
    assert mass @ pass_at_k(law.n_S, law.c_S, 8, rule) == pytest.approx(truth)


@pytest.mark.parametrize("rule", RULES)
def test_intervals_under_giving_up_cover(rule):
    law = design_law(rule)
    low, high = stopped_interval(rule, law.n_S, law.c_S)
    for p in np.linspace(0.002, 0.998, 40):
        assert law.mass(np.array([p]))[0][(low <= p) & (p <= high)].sum() >= 0.95 - 1e-9


def every_pair(rule):
    """Sample both sides in all ways; take up again what one gave up and the other solved late.

    Returns each side's successes among ``cap`` draws, and where the pair ends, one row a way.
    """
    draws = list(product((0, 1), repeat=rule.cap))
    own = np.array([walk(rule, one) for one in draws])
    end = np.array([walk(rule.to_the_end, one) for one in draws])
    i, j = (grid.reshape(-1) for grid in np.mgrid[0 : len(draws), 0 : len(draws)])
    given_up, late = rule.gave_up(*own.T), rule.late(*own.T)
    first = np.where((given_up[i] & late[j])[:, None], end[i], own[i])
    second = np.where((given_up[j] & late[i])[:, None], end[j], own[j])
    total = np.array(draws).sum(axis=1)
    return total[i], total[j], first, second


def test_the_joint_law_of_a_pair_equals_brute_force_and_its_tests_are_valid():
    rule, law = PAIRED, pair_law(PAIRED, PAIRED)
    a, b, first, second = every_pair(rule)
    before, after = first.T, second.T
    p_value = design_p_values(rule, rule, tuple(before), tuple(after))
    spans = [pair_interval(rule, True, *sides, 0.9) for sides in ((before, after), (after, before))]
    for p, q in ((0.1, 0.1), (0.4, 0.4), (0.05, 0.6), (0.3, 0.0)):
        mass = p**a * (1 - p) ** (rule.cap - a) * q**b * (1 - q) ** (rule.cap - b)
        expected = np.zeros((law.first.n_S.size, law.second.n_S.size))
        np.add.at(expected, (law.first.rows(before), law.second.rows(after)), mass)
        np.testing.assert_allclose(law.joint(p, q), expected, atol=1e-12)
        for (low, high), truth in zip(spans, (p, q), strict=True):
            assert mass[(low <= truth) & (truth <= high)].sum() >= 0.9 - 1e-9
        if p == q:
            for alpha in (0.02, 0.1, 0.3):
                assert mass[p_value <= alpha].sum() <= alpha * 1.01


def test_transitions_know_pairs_and_refuse_states_that_cannot_go_together():
    rule = StoppingRule(successes=8, cap=256, first=8, step=8, give_up=128)
    both = {"rule_before": rule, "rule_after": rule}
    found = transitions(
        [24, 128, 200, 128], [9, 0, 8, 1], [128, 24, 256, 128], [0, 9, 0, 0], **both
    )
    assert found.calls == ("lost", "gained", "lost", "undecided")
    assert found.power > 0.95
    assert (found.low_P <= found.high_P).all()
    with pytest.raises(Exception, match="row 0"):
        transitions([200], [8], [128], [0], **both)
    with pytest.raises(Exception, match="row 1"):
        transitions([24, 24], [9, 9], [128, 256], [0, 0], **both)
