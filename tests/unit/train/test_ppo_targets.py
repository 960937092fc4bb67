"""Which rows teach, what they are paid, and recipes that cannot be meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rewardable.errors import ConfigError
from rewardable.train.ppo.recipe import PPORecipe
from rewardable.train.ppo.targets import Targets, targets

MASK_BT = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1]], dtype=bool)
CUT_B = np.array([False, True, False, True])
VALUE_BU = np.array(
    [[0.1, 0.2, 9.0, 9.0], [0.3, 0.4, 0.5, 0.6], [0.7, 9.0, 9.0, 9.0], [0.1, 0.1, 0.1, 0.1]]
)
PAID_B = np.array([1.0, 0.0, 0.0, np.nan])


def told(paid_B: np.ndarray = PAID_B, **options: Any) -> Targets:
    gap_BT = options.pop("gap_BT", None)
    return targets(
        PPORecipe(**options),
        mask_BT=MASK_BT,
        truncated_B=CUT_B,
        paid_B=paid_B,
        value_BU=VALUE_BU,
        gap_BT=gap_BT,
    )


def test_by_default_every_verdict_pays_at_the_end_and_ungraded_rows_take_no_part() -> None:
    got = told()
    assert got.plays_BT.tolist() == [*MASK_BT[:3].tolist(), [False] * 3]
    assert got.returned_BT[0].tolist() == pytest.approx([1.0, 1.0, 0.0])
    assert got.advantage_BT[1] == pytest.approx([-0.3, -0.4, -0.5])
    assert got.advantage_BT[2] == pytest.approx([-0.7, 0.0, 0.0])


def test_an_ungraded_row_is_not_a_wrong_one() -> None:
    wrong = told(np.array([1.0, 0.0, 0.0, 0.0]))
    assert wrong.plays_BT[3].all()
    assert not told().plays_BT[3].any()
    assert np.array_equal(wrong.plays_BT[:3], told().plays_BT[:3])
    assert np.array_equal(wrong.advantage_BT[:3], told().advantage_BT[:3])


def test_masked_truncated_rows_take_no_part() -> None:
    assert told(mask_truncated=True).plays_BT.any(axis=1).tolist() == [True, False, True, False]


def test_bootstrapped_rows_are_paid_the_value_at_the_cut_in_place_of_the_verdict() -> None:
    got = told(np.array([1.0, 1.0, 0.0, np.nan]), bootstrap_truncated=True)
    assert got.returned_BT[1] == pytest.approx([0.6, 0.6, 0.6])
    assert got.returned_BT[0] == pytest.approx([1.0, 1.0, 0.0])
    assert got.returned_BT[2] == pytest.approx([0.0, 0.0, 0.0])
    assert not got.plays_BT[3].any()


def test_bootstrapped_rows_are_discounted() -> None:
    got = told(bootstrap_truncated=True, gamma=0.5, gae_lambda=1.0)
    assert got.returned_BT[1] == pytest.approx([0.6 / 8, 0.6 / 4, 0.6 / 2])


def test_the_penalty_is_paid_by_the_token() -> None:
    gap_BT = np.array([[0.5, -0.5, 3.0]] * 4)
    got = told(gap_BT=gap_BT, kl_coefficient=0.1)
    assert got.returned_BT[0] == pytest.approx([1.0, 1.05, 0.0])
    assert np.array_equal(told(gap_BT=gap_BT, kl_coefficient=0.0).returned_BT, told().returned_BT)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"clip": 0.0}, "clip must be above 0"),
        ({"gae_lambda": 1.5}, r"gae_lambda must be in \[0, 1\]"),
        ({"kl_coefficient": -0.1}, "kl_coefficient must be >= 0"),
        ({"critic": "onw"}, "Did you mean 'own'"),
        ({"mask_truncated": True, "bootstrap_truncated": True}, "exclude each other"),
        ({"train_prompts": 8}, "takes no prompt twice"),
        ({"prompts_per_step": 1, "group_size": 2, "minibatches": 4}, "minibatches"),
    ],
)
def test_recipes_that_cannot_be_meant(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PPORecipe(**options)
