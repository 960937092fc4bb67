"""Bad input gets an error that names the rows."""

from __future__ import annotations

import numpy as np
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.metrics import (
    LabelCounts,
    StoppingRule,
    best_at_k,
    coverage,
    curve_band,
    distinct_at_k,
    distinct_outputs,
    maj_at_k,
    mean_interval,
    ngram_repetition,
    paired_band,
    paired_interval,
    pass_at_k,
    polarisation,
    rarefied_coverage,
    reward_variance,
    support_dynamics,
    trainability,
    transitions,
)


@pytest.mark.parametrize(
    ("n", "c", "words"),
    [
        ([4, 4, 4], [1, 5, 9], "rows 1, 2"),
        ([4, 4], [1, -1], "row 1"),
        ([4, 4], [1, np.nan], "row 1"),
        ([4, 4.5], [1, 1], "row 1"),
        ([4, np.inf], [1, 1], "row 1"),
        ([], [], "non-empty"),
        ([4, 4, 4], [1, 1], "3 rows"),
        (["a"], [1], "numbers"),
        ([[4]], [[1]], "vector"),
    ],
)
def test_counts_are_refused_with_their_rows(n, c, words):
    with pytest.raises(DataError, match=words):
        pass_at_k(n, c, 1)


def test_many_bad_rows_are_counted():
    with pytest.raises(DataError, match="and 12 more"):
        pass_at_k([1] * 20, [2] * 20, 1)


@pytest.mark.parametrize("k", [0, -1, 1.5, [], [1, 0], "3", None, [[1]]])
def test_budgets_are_refused(k):
    with pytest.raises(ConfigError):
        pass_at_k([4], [1], k)


def test_a_scalar_n_stands_for_all_prompts():
    np.testing.assert_array_equal(pass_at_k(8, [0, 2], 3), pass_at_k([8, 8], [0, 2], 3))


def test_scores_and_prompts_are_refused():
    with pytest.raises(DataError, match="row 1"):
        best_at_k([1.0, np.nan], [0, 0], 1, 1)
    with pytest.raises(DataError, match="row 1"):
        reward_variance([1.0, 0.0], [0, 3], 2)
    with pytest.raises(DataError, match="2 rows"):
        best_at_k([1.0, 0.0], [0], 1, 1)
    with pytest.raises(DataError, match="integers"):
        distinct_outputs([0.5], [0], 1)
    with pytest.raises(DataError, match="row 0"):
        distinct_outputs([-3], [0], 1)


def test_labels_are_refused():
    with pytest.raises(DataError, match="row 1"):
        LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([1, 0]))
    with pytest.raises(DataError, match="integers"):
        LabelCounts(prompt_L=np.array([0]), count_L=np.array([1.0]))
    with pytest.raises(DataError, match="vectors"):
        LabelCounts(prompt_L=np.array([0, 1]), count_L=np.array([1]))
    seen = LabelCounts(prompt_L=np.array([0, 0]), count_L=np.array([3, 1]))
    with pytest.raises(DataError, match="row 0"):
        distinct_at_k(seen, [2], 1)
    with pytest.raises(DataError, match="row 0"):
        coverage(seen, [1], [4], 1)
    with pytest.raises(DataError, match="pair them"):
        coverage(seen, [3, 3], [4], 1)
    with pytest.raises(DataError, match="booleans"):
        maj_at_k(seen, [1, 0], [4], 1)
    with pytest.raises(ConfigError, match="ties"):
        maj_at_k(seen, [True, False], [4], 1, ties="first")
    with pytest.raises(DataError, match="policies"):
        rarefied_coverage([seen, seen], [[4]], [2], 1)


def test_groups_and_levels_are_refused():
    with pytest.raises(ConfigError, match="at least 2"):
        trainability([4], [1], 1)
    for level in (0.0, 1.0, 95):
        with pytest.raises(ConfigError, match="level"):
            mean_interval([0.5, 0.2], level=level)
    with pytest.raises(ConfigError, match="seed"):
        mean_interval([0.5, 0.2], seed=-1)
    with pytest.raises(ConfigError, match="draws"):
        curve_band(np.ones((3, 2)), draws=5)


def test_intervals_refuse_what_they_cannot_use():
    with pytest.raises(DataError, match="row 1"):
        mean_interval([0.5, np.nan])
    with pytest.raises(DataError, match="pair them"):
        paired_interval([0.5], [0.5, 0.1])
    with pytest.raises(DataError, match="clusters"):
        mean_interval([0.5, 0.1], clusters=[1])
    with pytest.raises(DataError, match="row 1"):
        mean_interval([0.5, 1.5], bounds=(0, 1))
    with pytest.raises(ConfigError, match="low < high"):
        mean_interval([0.5, 0.5], bounds=(1, 1))
    with pytest.raises(DataError, match="pair them"):
        paired_band(np.ones((3, 2)), np.ones((3, 3)))
    with pytest.raises(DataError, match="empty"):
        curve_band(np.ones((0, 3)))


def test_transitions_and_friends_refuse_mismatched_sets():
    with pytest.raises(DataError, match="pair them"):
        transitions([4], [1], [4, 4], [1, 1])
    with pytest.raises(DataError, match="c_after must not exceed n_after; row 0"):
        transitions([4], [1], [4], [5])
    with pytest.raises(DataError, match="row 1"):
        transitions([4, 0], [1, 0], [4, 4], [1, 1])
    with pytest.raises(DataError, match="pair them"):
        support_dynamics([4], [1], [4, 4], [1, 1])
    with pytest.raises(ConfigError, match="exceeds"):
        support_dynamics([4], [1], [4], [1], k=5)
    with pytest.raises(DataError, match="row 0"):
        polarisation([1, 4], [1, 1])


def test_token_streams_are_refused():
    with pytest.raises(DataError, match="sorted"):
        ngram_repetition([1, 2, 3], [0, 1, 0], 2)
    with pytest.raises(DataError, match="row 1"):
        ngram_repetition([1, -2], [0, 0], 1)


def test_stopping_rules_refuse_states_they_cannot_end_in():
    rule = StoppingRule(successes=2, cap=16, first=4, step=4)
    good = [(4, 2), (8, 2), (8, 5), (16, 0), (16, 5)]
    pass_at_k(*np.array(good).T, 4, rule)
    for state, words in [((6, 2), "look"), ((8, 1), "where sampling"), ((8, 6), "earlier look")]:
        with pytest.raises(DataError, match=words):
            pass_at_k([state[0]], [state[1]], 4, rule)
    with pytest.raises(ConfigError, match="beyond the cap"):
        StoppingRule(successes=1, cap=4, first=8)
    with pytest.raises(ConfigError, match="successes"):
        StoppingRule(successes=0, cap=4)
    with pytest.raises(ConfigError, match="Raise `first`"):
        trainability([16], [1], 8, rule)
    with pytest.raises(DataError, match="one number for all"):
        transitions([16, 16], [1, 1], [8, 16], [0, 0], rule_before=rule)
