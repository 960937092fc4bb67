"""Every unbiased estimator against the average over all subsets, computed by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from rewardable.metrics import (
    LabelCounts,
    StoppingRule,
    best_at_k,
    collision_probability,
    count_labels,
    distinct_at_k,
    graded_trainability,
    maj_at_k,
    pass_at_k,
    pass_hat_k,
    reward_variance,
    trainability,
)
from rewardable.metrics.designs import design_law


def rows_of(n, c):
    return [1] * c + [0] * (n - c)


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_pass_at_k_and_pass_hat_k_equal_enumeration(n):
    for c in range(n + 1):
        for k in range(1, n + 1):
            subsets = list(combinations(rows_of(n, c), k))
            assert pass_at_k([n], [c], k)[0] == pytest.approx(np.mean([max(s) for s in subsets]))
            assert pass_hat_k([n], [c], k)[0] == pytest.approx(np.mean([min(s) for s in subsets]))


def test_trainability_equals_enumeration():
    for c in range(7):
        for group in range(2, 7):
            subsets = combinations(rows_of(6, c), group)
            expected = np.mean([0 < sum(s) < group for s in subsets])
            assert trainability([6], [c], group)[0] == pytest.approx(expected)


def test_best_at_k_equals_enumeration_with_ties_and_negative_scores():
    scores = [-1.0, 0.25, 0.25, 0.5, 0.5, 2.0]
    ks = list(range(1, 7))
    expected = [np.mean([max(s) for s in combinations(scores, k)]) for k in ks]
    shuffled = [scores[i] for i in (3, 0, 5, 1, 4, 2)]
    assert best_at_k(shuffled, [0] * 6, 1, ks)[0] == pytest.approx(expected)


def test_graded_trainability_equals_enumeration():
    scores = [0.0, 0.5, 0.5, 0.5, 1.0, 1.0]
    for group in range(2, 7):
        expected = np.mean([len(set(s)) > 1 for s in combinations(scores, group)])
        found = graded_trainability(scores, [0] * 6, 1, group)[0]
        assert found == pytest.approx(expected)


def test_distinct_at_k_equals_enumeration_with_unlabelled_rows():
    codes = [4, 4, 4, 9, 9, 1, -1, -1]
    seen = count_labels([0] * 8, codes, 1)
    for k in range(1, 9):
        expected = np.mean([len(set(s) - {-1}) for s in combinations(codes, k)])
        assert distinct_at_k(seen, [8], k)[0] == pytest.approx(expected)


def vote(subset, right, ties):
    tally = Counter(answer for answer in subset if answer >= 0)
    if not tally:
        return 0.0
    top = max(tally.values())
    best = [answer for answer, count in tally.items() if count == top]
    if ties == "wrong":
        return float(len(best) == 1 and best[0] in right)
    return sum(answer in right for answer in best) / len(best)


@pytest.mark.parametrize("ties", ["split", "wrong"])
@pytest.mark.parametrize(
    ("codes", "right"),
    [
        ([0, 0, 0, 1, 1], {0}),
        ([0, 0, 1, 1, 2, 3, -1], {1}),
        ([0, 1, 2, 3, 4, 4, -1, -1], {0, 4}),
        ([0, 0, 0, 0], {0}),
        ([1, 1, 2], set()),
    ],
)
def test_maj_at_k_equals_enumeration(codes, right, ties):
    tally = sorted(Counter(code for code in codes if code >= 0).items())
    answers = LabelCounts(
        prompt_L=np.zeros(len(tally), dtype=int), count_L=np.array([count for _, count in tally])
    )
    correct = np.array([code in right for code, _ in tally])
    ks = list(range(1, len(codes) + 1))
    found = maj_at_k(answers, correct, [len(codes)], ks, ties=ties)[0]
    expected = [np.mean([vote(s, right, ties) for s in combinations(codes, k)]) for k in ks]
    assert found == pytest.approx(expected)


def test_moments_have_their_exact_expectation():
    for p in (0.1, 0.5, 0.93):
        mass = [comb(5, c) * p**c * (1 - p) ** (5 - c) for c in range(6)]
        rows = [np.array(rows_of(5, c)) for c in range(6)]
        variance = [reward_variance(row, [0] * 5, 1)[0] for row in rows]
        assert np.dot(mass, variance) == pytest.approx(p * (1 - p))
        same = [
            collision_probability(count_labels([0] * 5, row.astype(int), 1), 1)[0] for row in rows
        ]
        assert np.dot(mass, same) == pytest.approx(p * p + (1 - p) ** 2)


RULES = [
    StoppingRule(successes=1, cap=7),
    StoppingRule(successes=2, cap=9),
    StoppingRule(successes=2, cap=11, first=4, step=3),
    StoppingRule(successes=3, cap=10, first=3, step=4),
    StoppingRule(successes=9, cap=6, first=6),
]


@pytest.mark.parametrize("rule", RULES)
def test_final_states_of_a_rule_equal_brute_force(rule):
    paths = Counter()
    for draws in product((0, 1), repeat=rule.cap):
        n = c = 0
        while (more := rule.wants_more(n, c)) > 0:
            c += sum(draws[n : n + more])
            n += more
        paths[(n, c)] += 2.0 ** -(rule.cap - n)
    law = design_law(rule)
    found = dict(zip(zip(law.n_S, law.c_S, strict=True), np.exp(law.log_paths_S), strict=True))
    assert set(found) == set(paths)
    for state, count in paths.items():
        assert found[state] == pytest.approx(count)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("p", [0.0, 0.04, 0.5, 0.9, 1.0])
def test_stopped_estimates_are_unbiased(rule, p):
    law = design_law(rule)
    mass = law.mass(np.array([p]))[0]
    assert mass.sum() == pytest.approx(1.0)
    ks = np.arange(1, rule.cap + 1)
    expected = 1 - (1 - p) ** ks
    assert mass @ pass_at_k(law.n_S, law.c_S, ks, rule) == pytest.approx(expected)
    for group in range(2, rule.first + 1):
        truth = 1 - p**group - (1 - p) ** group
        found = mass @ trainability(law.n_S, law.c_S, group, rule)
        assert found == pytest.approx(truth, abs=1e-12)


def test_stopped_formula_is_the_one_of_negative_binomial_sampling():
    rule = StoppingRule(successes=3, cap=40)
    n, k = 17, 6
    expected = 1 - comb(n - 1 - k, 2) / comb(n - 1, 2)
    assert pass_at_k([n], [3], k, rule)[0] == pytest.approx(expected)
    assert pass_at_k([40], [2], k, rule)[0] == pytest.approx(1 - comb(38, k) / comb(40, k))
