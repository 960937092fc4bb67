"""Configurations from plain mappings: nested, typed, with suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from rewardable.errors import ConfigError
from rewardable.workflows.training.read import build


@dataclass(frozen=True, kw_only=True)
class Inner:
    rank: int = 1
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outer:
    size: int
    rate: float = 0.5
    kind: Literal["a", "b"] = "a"
    pair: tuple[int, float] = (1, 2.0)
    inner: Inner | None = None
    flag: bool = False
    free: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


def test_nested_tables_lists_and_numbers() -> None:
    raw = {"size": 3, "rate": 1, "inner": {"names": ["x", "y"]}, "pair": [2, 3], "free": {"z": []}}
    found = build(Outer, raw, "[outer]", seed=7)
    assert found == Outer(
        size=3, rate=1.0, inner=Inner(names=("x", "y")), pair=(2, 3.0), free={"z": []}, seed=7
    )
    assert isinstance(found.rate, float)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"size": 1, "ratte": 2}, "Did you mean 'rate'"),
        ({}, "lacks size"),
        ({"size": "3"}, "must be a whole number, got '3'"),
        ({"size": True}, "must be a whole number"),
        ({"size": 1, "flag": 1}, "must be true or false"),
        ({"size": 1, "kind": "c"}, "unknown value of [outer].kind"),
        ({"size": 1, "pair": [1]}, "must have 2 values"),
        ({"size": 1, "inner": {"rnk": 2}}, "Did you mean 'rank'"),
        ({"size": 1, "inner": {"names": "x"}}, "must be a list"),
        ({"size": 1, "inner": 3}, "must be a table"),
        ({"size": 1, "seed": 3}, "unknown key"),
    ],
)
def test_what_cannot_be_meant_is_said(raw: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        build(Outer, raw, "[outer]", seed=0)
    assert said in str(error.value)
