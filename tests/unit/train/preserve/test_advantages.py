"""Advantages against enumeration, and what must stay of plain GRPO's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.train.preserve import BalancedConfig, PassAtKConfig, advantage_rule
from rewardable.train.preserve.advantages import (
    balance,
    best_of_k_advantages,
    one_failure_scale,
    plain_advantages,
    rloo_factor,
)
from rewardable.train.taps import RolloutBatch

Batches = Callable[..., RolloutBatch]


def test_case_g01_constant_groups_have_exactly_no_advantage(cases: dict[str, Any]) -> None:
    groups = [row["groups"] for row in cases["G01"]["input"]["rows"]]
    for group in (*groups[0], *groups[1], *groups[2]):
        assert plain_advantages(group).tolist() == [0.0] * len(group)
        single = [float(np.float32(reward)) for reward in group]
        assert plain_advantages(single).tolist() == [0.0] * len(group)
        assert best_of_k_advantages(single, 2).tolist() == [0.0] * len(group)
    assert plain_advantages(groups[3][0])[-1] == pytest.approx(2.475, abs=2e-3)
    assert plain_advantages(groups[4][0]).tolist() == [0.0]


def test_successes_share_equally_between_families_and_failures_stay() -> None:
    plain = plain_advantages([1, 1, 1, 1, 0, 0], "none")
    correct = [True] * 4 + [False] * 2
    got = balance(plain, correct, ["a", "a", "a", "b", "", ""], spread=1.0)
    mass = 4 * (1 - 4 / 6)
    assert got[:4] == pytest.approx([mass / 6] * 3 + [mass / 2])
    assert got[4:] == pytest.approx(plain[4:])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["", "a", "b", "c", "-"]), min_size=2, max_size=12), st.booleans())
def test_balance_keeps_the_mean_and_every_family_gets_as_much(rows: list[str], std: bool) -> None:
    correct = [row != "-" for row in rows]
    scale = "std" if std else "none"
    plain = plain_advantages([float(c) for c in correct], scale)
    got = balance(plain, correct, rows, one_failure_scale(len(rows), scale))
    assert got.sum() == pytest.approx(0.0, abs=1e-9)
    families = sorted({row for row in rows if row != "-"})
    sums = [sum(got[i] for i, row in enumerate(rows) if row == family) for family in families]
    if not all(correct) and families:
        assert sums == pytest.approx([sums[0]] * len(sums))
        assert sum(sums) == pytest.approx(plain[np.array(correct)].sum())
    elif families:
        even = len(rows) / len(families)
        signs = [np.sign(even - rows.count(family)) for family in families]
        assert [np.sign(round(each, 9)) for each in sums] == signs


@pytest.mark.parametrize("scale", ["std", "none"])
def test_the_spread_of_an_all_right_group_is_that_of_one_failure(scale: Any) -> None:
    """With the same shares of families, rows of both groups are moved apart as much."""
    n = 400
    families = ["a"] * (n - 100) + ["b"] * 100
    all_right = balance(np.zeros(n), [True] * n, families, one_failure_scale(n, scale))
    one_wrong = balance(
        plain_advantages([1.0] * (n - 1) + [0.0], scale),
        [True] * (n - 1) + [False],
        [*families[:-1], ""],
        one_failure_scale(n, scale),
    )
    gap_all, gap_one = all_right[-1] - all_right[0], one_wrong[-2] - one_wrong[0]
    assert gap_all == pytest.approx(gap_one, rel=0.02)
    assert all_right[-1] > 0 > all_right[0]


def test_what_tells_successes_apart_beside_families_stays() -> None:
    plain = np.array([0.6, 0.2, -0.8])
    got = balance(plain, [True, True, False], ["a", "b", ""], spread=0.0)
    assert got == pytest.approx(plain)


def test_one_family_is_plain_grpo_with_failures_and_silent_without(make_batch: Batches) -> None:
    rule = advantage_rule(balanced=BalancedConfig())
    batch = make_batch(["+a", "+a", "-", "-"], ["+a", "+a", "+a", "+a"])
    assert rule(batch)[:4] == pytest.approx(plain_advantages([1, 1, 0, 0]))
    assert rule(batch)[4:] == [0.0] * 4


def test_ungraded_rows_get_none_and_the_rest_has_mean_zero(make_batch: Batches) -> None:
    batch = make_batch(["+a", None, "+b", "-"], [None, None, None, "+a"])
    for rule in (
        advantage_rule(),
        advantage_rule(balanced=BalancedConfig()),
        advantage_rule(pass_at_k=PassAtKConfig(k=3)),
    ):
        got = rule(batch)
        assert [value is None for value in got] == [row.reward is None for row in batch.shaped]
        assert sum(value or 0.0 for value in got[:4]) == pytest.approx(0.0, abs=1e-12)
        assert got[7] == 0.0


def test_successes_without_a_label_are_one_family(make_batch: Batches) -> None:
    rule = advantage_rule(balanced=BalancedConfig(), scale="none")
    got = rule(make_batch(["+", "+", "+a", "-"]))
    assert got[:3] == pytest.approx([0.75 / 4, 0.75 / 4, 0.75 / 2])


def brute_force(rewards: list[float], k: int) -> tuple[list[float], float]:
    n = len(rewards)
    best = {rows: max(rewards[i] for i in rows) for rows in itertools.combinations(range(n), k)}
    mean = sum(best.values()) / len(best)
    own = [[value for rows, value in best.items() if i in rows] for i in range(n)]
    spread = sum((value - mean) ** 2 for value in best.values()) / len(best)
    return [sum(values) / len(values) - mean for values in own], math.sqrt(spread)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "rewards", [[1, 0, 0, 1, 0, 0], [1, 1, 1, 1, 1, 0], [0.2, 0.9, 0.2, 0.0, 0.5, 0.9, -0.3]]
)
def test_best_of_k_is_the_mean_over_all_subsets(rewards: list[float], k: int) -> None:
    expected, deviation = brute_force(rewards, k)
    got = best_of_k_advantages(rewards, k, "none")
    assert got == pytest.approx(expected, abs=1e-12)
    assert got.sum() == pytest.approx(0.0, abs=1e-12)
    scaled = best_of_k_advantages(rewards, k, "std")
    assert scaled == pytest.approx([e / (deviation + 1e-4) for e in expected], abs=1e-9)


@pytest.mark.parametrize(("n", "c", "k"), [(8, 2, 4), (6, 5, 2), (6, 3, 5)])
def test_binary_rewards_give_the_closed_form_of_pass_at_k(n: int, c: int, k: int) -> None:
    reach = 1 - math.comb(n - c, k) / math.comb(n, k)
    right = 1 - reach
    wrong = 1 - reach - math.comb(n - c - 1, k - 1) / math.comb(n - 1, k - 1)
    got = best_of_k_advantages([1.0] * c + [0.0] * (n - c), k, "none")
    assert got == pytest.approx([right] * c + [wrong] * (n - c))


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_pass_at_k_advantages_follow_the_gradient_of_pass_at_k(k: int, p: float) -> None:
    """Over every group of N answers of a policy that is right with p: expectation of the mean of
    advantage x score function is (1 - k/N) / k times the gradient k (1-p)^(k-1)."""
    n = 6
    expected = 0.0
    for outcome in itertools.product((1.0, 0.0), repeat=n):
        weight = math.prod(p if one else 1 - p for one in outcome)
        score = np.array([1 / p if one else -1 / (1 - p) for one in outcome])
        expected += weight * float(best_of_k_advantages(outcome, k, "none") @ score) / n
    assert expected == pytest.approx((1 - k / n) * (1 - p) ** (k - 1))


def test_balanced_best_of_k_shares_its_positive_mass(make_batch: Batches) -> None:
    batch = make_batch(["+a", "+a", "+b", "-", "-", "-"])
    plain = advantage_rule(pass_at_k=PassAtKConfig(k=3), scale="none")(batch)
    both = advantage_rule(pass_at_k=PassAtKConfig(k=3), balanced=BalancedConfig(), scale="none")(
        batch
    )
    mass = sum(value or 0.0 for value in plain[:3])
    assert both[:3] == pytest.approx([mass / 4, mass / 4, mass / 2])
    assert both[3:] == pytest.approx(plain[3:])


def test_leave_one_out_trainers_end_with_the_same_advantages(make_batch: Batches) -> None:
    batch = make_batch(["+a", "+b", "+b", None, "-"])
    given = advantage_rule(balanced=BalancedConfig(), leave_one_out=True)(batch)
    kept = np.array([value for value in given if value is not None])
    others = (kept.sum() - kept) / (len(kept) - 1)
    wanted = [v for v in advantage_rule(balanced=BalancedConfig())(batch) if v is not None]
    assert kept - others == pytest.approx(wanted)
    assert rloo_factor(4) == pytest.approx(4 / 3)


@pytest.mark.parametrize("k", [4, 9])
def test_a_k_that_no_group_can_serve_is_refused(make_batch: Batches, k: int) -> None:
    with pytest.raises(ConfigError, match="group_size"):
        advantage_rule(pass_at_k=PassAtKConfig(k=k))(make_batch(["+a", "-", "-", "-"]))
