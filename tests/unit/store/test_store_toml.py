from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardable.errors import ConfigError
from rewardable.store.toml import to_toml

scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
keys = st.text(st.characters(exclude_categories=["Cs"]))
flat = st.dictionaries(keys, scalars, max_size=3)
values = st.one_of(
    scalars,
    st.lists(scalars, max_size=3),
    st.lists(flat, max_size=2),
    st.lists(st.lists(scalars, max_size=2), max_size=2),
)
configs = st.recursive(
    st.dictionaries(keys, values, max_size=4),
    lambda inner: st.dictionaries(keys, st.one_of(values, inner), max_size=4),
    max_leaves=12,
)


@given(configs)
def test_round_trip(config: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(config)) == config


def test_text_is_readable() -> None:
    config = {"n": 64, "sampling": {"temperature": 1.0, "stop": ["\n"]}, "tasks": ["countdown"]}
    assert to_toml(config) == (
        'n = 64\ntasks = ["countdown"]\n\n[sampling]\ntemperature = 1.0\nstop = ["\\n"]\n'
    )


def test_none_means_absent_and_tuples_become_lists() -> None:
    config = {"a": None, "b": (1, 2), "c": {"d": None}, "e": [{"f": None, "g": 1}]}
    assert tomllib.loads(to_toml(config)) == {"b": [1, 2], "c": {}, "e": [{"g": 1}]}


@pytest.mark.parametrize("value", [float("nan"), object(), [None], {1: 2}, "half \ud835"])
def test_what_toml_cannot_hold_is_refused_by_name(value: object) -> None:
    with pytest.raises(ConfigError):
        to_toml({"table": {"key": value}})
