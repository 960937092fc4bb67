"""The run's configuration: refusals, round trip, suggestions."""

from __future__ import annotations

import pytest

from rewardable.errors import ConfigError
from rewardable.workflows.config import RunConfig, config_from_dict


def test_round_trip_through_plain_values() -> None:
    config = RunConfig(policies=("a", "b"), task="countdown", temperatures=(0.6, 1.0))
    assert config_from_dict(config.to_dict()) == config


def test_unknown_key_is_an_error_with_a_suggestion() -> None:
    raw = RunConfig(policies=("a",), task="countdown").to_dict()
    with pytest.raises(ConfigError, match="'temperatures'"):
        config_from_dict({**raw, "temperature": [1.0]})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"policies": ()}, "policy"),
        ({"policies": ("a", "a")}, "twice"),
        ({"n": 0}, "n must"),
        ({"group": 1}, "group"),
        ({"temperatures": ()}, "temperatures"),
        ({"temperatures": (-1.0,)}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: dict[str, object], named: str) -> None:
    values = {"policies": ("a", "b"), "task": "countdown", **change}
    with pytest.raises(ConfigError, match=named):
        RunConfig(**values)  # type: ignore[arg-type]


def test_one_spec_a_temperature() -> None:
    config = RunConfig(policies=("a",), task="t", temperatures=(0.6, 1.4), seed=3)
    assert [spec.temperature for spec in config.specs] == [0.6, 1.4]
    assert {spec.seed for spec in config.specs} == {3}
