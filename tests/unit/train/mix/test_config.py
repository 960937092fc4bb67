"""What a ratio means."""

from __future__ import annotations

from typing import Any

import pytest

from rewardable.errors import ConfigError
from rewardable.train.mix import DistillMix, MixConfig, ReplayConfig


def test_the_shares_are_relative_to_the_rollouts() -> None:
    config = MixConfig(rlvr=0.5, supervised=0.3, replay=0.2)
    assert config.ratio("supervised") == pytest.approx(0.6)
    assert config.ratio("replay") == pytest.approx(0.4)


def test_the_defaults_lie_in_the_ranges_of_the_source() -> None:
    config = MixConfig()
    assert 0.5 <= config.rlvr <= 0.6
    assert 0.2 <= config.supervised <= 0.3
    assert 0.1 <= config.replay <= 0.2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rlvr": 0.5}, "add up to 1"),
        ({"rlvr": 0.8, "supervised": 0.4, "replay": -0.2}, ">= 0"),
        ({"rlvr": 0.0, "supervised": 0.5, "replay": 0.5}, "above 0"),
        ({"rlvr": float("nan")}, "add up to 1"),
        ({"unit": "token"}, "tokens"),
        ({"rows": 0}, "rows"),
    ],
)
def test_mixtures_that_cannot_be_meant_are_refused(change: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        MixConfig(**change)


@pytest.mark.parametrize(
    ("build", "change"),
    [
        (ReplayConfig, {"rare_share": 1.5}),
        (ReplayConfig, {"entropy_quantile": -0.1}),
        (ReplayConfig, {"capacity": 0}),
        (DistillMix, {"teacher": "x", "every": 0}),
        (DistillMix, {"teacher": "x", "weight": 0.0}),
    ],
)
def test_parts_that_cannot_be_meant_are_refused(build: Any, change: Any) -> None:
    with pytest.raises(ConfigError):
        build(**change)
