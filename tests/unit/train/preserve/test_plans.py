"""Schedules, stages and the choice of prompts."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.train import GRPORecipe, RewardConfig
from rewardable.train.preserve import (
    THREE_ROUNDS,
    PreserveConfig,
    SoftSchedule,
    TrainabilityBand,
    trainable_prompts,
)
from rewardable.train.preserve.advantages import plain_advantages
from rewardable.train.preserve.filter import variation
from rewardable.train.preserve.schedule import scheduled
from rewardable.train.preserve.taps import support_tap
from rewardable.train.taps import RolloutBatch

Batches = Callable[..., RolloutBatch]


def test_wrong_answers_are_paid_less_and_less() -> None:
    schedule = SoftSchedule(until=10, partial=0.6, format_credit=0.2)
    reward = RewardConfig(diversity_weight=0.3)
    paid = [schedule.at(step, reward) for step in (0, 5, 10, 99)]
    assert [one.partial for one in paid] == pytest.approx([0.6, 0.3, 0.0, 0.0])
    assert [one.format_credit for one in paid] == pytest.approx([0.2, 0.1, 0.0, 0.0])
    assert {one.diversity_weight for one in paid} == {0.3}


def test_the_schedule_pays_a_batch_by_its_step(make_batch: Batches) -> None:
    rule = scheduled(SoftSchedule(until=10, partial=0.8, format_credit=0.0), RewardConfig())
    group = ["+a", "-0.5", "-0", None]
    early, late = rule(make_batch(group, step=0)), rule(make_batch(group, step=10))
    assert early[:3] == pytest.approx(plain_advantages([1.0, 0.4, 0.0]))
    assert late[:3] == pytest.approx(plain_advantages([1.0, 0.0, 0.0]))
    assert early[3] is None


def test_a_prompt_drawn_twice_keeps_its_groups_apart(make_batch: Batches) -> None:
    reward = RewardConfig(diversity_weight=1.0)
    schedule = SoftSchedule(until=1, partial=0.0, format_credit=0.0)
    batch = make_batch(["+a", "-"], ["+a", "-"])
    twice = RolloutBatch(
        step=0,
        group_size=2,
        prompt_keys=("p",) * 4,
        texts=("same",) * 4,
        token_ids=batch.token_ids,
        truncated=batch.truncated,
        shaped=batch.shaped,
    )
    got = scheduled(schedule, reward)(twice)
    assert got[:2] == pytest.approx(got[2:])
    assert got[:2] == pytest.approx(plain_advantages([0.0, -1.0]))


@pytest.mark.parametrize(("n", "c", "g"), [(6, 2, 3), (5, 5, 2), (6, 1, 6)])
def test_variation_is_the_share_of_subsets_with_both(n: int, c: int, g: int) -> None:
    answers = [1] * c + [0] * (n - c)
    subsets = list(itertools.combinations(answers, g))
    assert variation(n, c, g) == pytest.approx(sum(0 < sum(s) < g for s in subsets) / len(subsets))


def test_few_answers_never_make_a_prompt_hopeless() -> None:
    assert 0.0 < variation(4, 0, 16) < variation(4, 1, 16) < 1.0
    assert variation(0, 0, 2) == pytest.approx(0.25)  # E[2 p (1 - p)] under Beta(1/2, 1/2)


def test_prompts_inside_the_band_are_kept() -> None:
    counts = {"never": (64, 0), "rare": (64, 1), "half": (64, 32), "always": (64, 64)}
    band = TrainabilityBand(group_size=8, low=0.1, high=1.0)
    assert trainable_prompts(counts, band) == ["rare", "half"]
    with pytest.raises(DataError, match="Widen"):
        trainable_prompts({"never": (64, 0)}, band)
    with pytest.raises(DataError, match="n=3, c=4"):
        variation(3, 4, 2)


def test_the_three_rounds_name_settings_that_there_are() -> None:
    recipe, preserve = GRPORecipe(), PreserveConfig()
    shares = 0.0
    for stage in THREE_ROUNDS:
        for name in (*stage.set, *stage.scale):
            head, *rest = name.split(".")
            if head == "preserve":
                assert hasattr(preserve, rest[0])
            elif head != "sft":
                assert hasattr(recipe, head)
                assert not rest or hasattr(getattr(recipe, head), rest[0])
        shares += stage.scale["steps"]
    assert shares == pytest.approx(1.0)


def test_the_support_of_a_batch(make_batch: Batches) -> None:
    tap = support_tap("solution")
    found = tap(make_batch(["+a", "+b", "+a"], ["-", "-", None], [None, None, None]))
    assert found["preserve/support"] == pytest.approx(0.5)
    assert found["preserve/families"] == 2.0
    assert found["preserve/reward"] == pytest.approx(3 / 5)
    assert tap(make_batch([None, None])) == {}


def test_settings_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(ConfigError, match="until"):
        SoftSchedule(until=0)
    with pytest.raises(ConfigError, match="scale"):
        PreserveConfig(scale="sdt")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ballanced"):
        PreserveConfig(ballanced=None)  # type: ignore[call-arg]
