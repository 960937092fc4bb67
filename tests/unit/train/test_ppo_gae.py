"""Generalised advantages against hand loops and against an enumerated world."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rewardable.train.ppo.gae import Spread, explained_variance, gae, token_rewards

RNG = np.random.default_rng(3)


def by_hand(
    reward: list[float], value: list[float], after: float, gamma: float, lam: float
) -> list[float]:
    """Sum the discounted surprises of all later tokens, each written out."""
    ahead = [*value, after][1:]
    surprise = [r + gamma * a - v for r, a, v in zip(reward, ahead, value, strict=True)]
    return [
        sum((gamma * lam) ** (later - t) * surprise[later] for later in range(t, len(reward)))
        for t in range(len(reward))
    ]


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.9, 0.7), (1.0, 0.0), (0.5, 1.0)])
def test_advantages_are_the_hand_loop_s_on_rows_of_every_length(gamma: float, lam: float) -> None:
    lengths = [1, 4, 0, 3]
    reward_BT, value_BT = RNG.normal(size=(2, 4, 4))
    mask_BT = np.arange(4)[None, :] < np.array(lengths)[:, None]
    after_B = np.array([0.0, 0.6, 0.3, -0.2])
    advantage_BT, returned_BT = gae(reward_BT, value_BT, mask_BT, after_B, gamma=gamma, lam=lam)
    for row, length in enumerate(lengths):
        expected = by_hand(
            reward_BT[row, :length].tolist(),
            value_BT[row, :length].tolist(),
            after_B[row],
            gamma,
            lam,
        )
        assert advantage_BT[row, :length] == pytest.approx(expected)
        assert not advantage_BT[row, length:].any()
        assert returned_BT[row, :length] == pytest.approx(expected + value_BT[row, :length])
        assert not returned_BT[row, length:].any()


def test_looking_to_the_end_is_reward_to_go_minus_value() -> None:
    reward_BT, value_BT = RNG.normal(size=(2, 5, 6))
    whole = np.ones((5, 6), dtype=bool)
    advantage_BT, returned_BT = gae(reward_BT, value_BT, whole, np.zeros(5), gamma=1.0, lam=1.0)
    to_go_BT = reward_BT[:, ::-1].cumsum(axis=1)[:, ::-1]
    assert advantage_BT == pytest.approx(to_go_BT - value_BT)
    assert returned_BT == pytest.approx(to_go_BT)


@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_with_true_values_the_mean_advantage_is_q_minus_v_whatever_lambda(lam: float) -> None:
    """Two choices a step, three steps, every path enumerated with its probability."""
    gamma, first = 0.9, {"": 0.3, "a": 0.6, "b": 0.5, "aa": 0.2, "ab": 0.9, "ba": 0.7, "bb": 0.4}
    paths = ["".join(path) for path in product("ab", repeat=3)]
    paid = {path: float(place % 3) for place, path in enumerate(paths)}

    def chance(state: str, choice: str) -> float:
        return first[state] if choice == "a" else 1 - first[state]

    def value(state: str) -> float:
        if len(state) == 3:
            return 0.0
        return sum(chance(state, choice) * worth(state, choice) for choice in "ab")

    def worth(state: str, choice: str) -> float:
        after = state + choice
        return paid.get(after, 0.0) + gamma * value(after)

    sums: dict[tuple[str, str], list[float]] = {}
    for path in paths:
        likely = float(np.prod([chance(path[:t], path[t]) for t in range(3)]))
        advantage_BT, _ = gae(
            np.array([[0.0, 0.0, paid[path]]]),
            np.array([[value(path[:t]) for t in range(3)]]),
            np.ones((1, 3), dtype=bool),
            np.zeros(1),
            gamma=gamma,
            lam=lam,
        )
        for t in range(3):
            total = sums.setdefault((path[:t], path[t]), [0.0, 0.0])
            total[0] += likely * advantage_BT[0, t]
            total[1] += likely
    assert len(sums) == 14
    for (state, choice), (total, likely) in sums.items():
        assert total / likely == pytest.approx(worth(state, choice) - value(state))


def test_the_verdict_pays_the_last_token_and_every_token_pays_for_leaving_the_reference() -> None:
    mask_BT = np.array([[True, True, False], [True, True, True], [False, False, False]])
    penalty_BT = np.full((3, 3), 0.25)
    paid_B = np.array([1.0, 0.5, 7.0])
    got = token_rewards(paid_B, mask_BT, penalty_BT)
    assert got.tolist() == [[-0.25, 0.75, 0.0], [-0.25, -0.25, 0.25], [0.0, 0.0, 0.0]]
    assert token_rewards(paid_B, mask_BT).tolist() == [[0, 1, 0], [0, 0, 0.5], [0, 0, 0]]


def test_whitening_covers_the_tokens_that_play_and_no_others() -> None:
    values_BT = RNG.normal(2.0, 3.0, size=(4, 5))
    mask_BT = RNG.random((4, 5)) < 0.6
    white_BT = Spread.of(values_BT[mask_BT]).whiten(values_BT, mask_BT)
    assert white_BT[mask_BT].mean() == pytest.approx(0.0)
    assert white_BT[mask_BT].std() == pytest.approx(1.0)
    assert not white_BT[~mask_BT].any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_case_g01_equal_rewards_leave_no_advantage(cases: dict, dtype: type) -> None:
    for row in cases["G01"]["input"]["rows"][:2] + cases["G01"]["input"]["rows"][4:]:
        values = np.array(row["groups"], dtype=dtype).astype(np.float64)
        values = values - values.mean() * (1 + 1e-9)
        white = Spread.of(values.reshape(-1)).whiten(values, np.ones(values.shape, dtype=bool))
        assert not white.any()


def test_explained_variance_of_perfect_constant_and_misleading_values() -> None:
    returned = np.array([0.0, 1.0, 1.0, 0.0])
    assert explained_variance(returned, returned) == pytest.approx(1.0)
    assert explained_variance(returned, np.full(4, 0.7)) == pytest.approx(0.0)
    assert explained_variance(returned, 1.0 - returned) == pytest.approx(-3.0)
    assert explained_variance(np.ones(4), returned) is None
    assert explained_variance(np.zeros(0), np.zeros(0)) is None
