"""Policies are opened in turn, and let go before the next one is opened."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import pytest

from rewardable.engines import Engine, EngineOptions
from rewardable.engines.fake import FakePolicy
from rewardable.workflows import policies
from rewardable.workflows.config import RunConfig
from rewardable.workflows.policies import in_turn


@pytest.fixture
def sources(tmp_path: Path) -> tuple[str, ...]:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(json.dumps({"name": name, "table": {"*": {name: 1.0}}}))
    return tuple(f"fake:{tmp_path / name}" for name in ("a", "b", "c"))


def test_one_policy_is_in_memory_at_a_time(
    sources: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    alive: list[weakref.ref[FakePolicy]] = []

    def open_watched(source: str, options: EngineOptions) -> FakePolicy:
        gc.collect()
        assert not any(ref() for ref in alive), "an earlier policy is still held"
        engine = FakePolicy.from_file(source.removeprefix("fake:"))
        alive.append(weakref.ref(engine))
        return engine

    monkeypatch.setattr(policies, "open_engine", open_watched)
    visited: list[tuple[int, str]] = []

    def visit(position: int, source: str, options: EngineOptions, engine: Engine) -> None:
        visited.append((position, engine.policy.name))

    in_turn(RunConfig(policies=sources, task="countdown"), visit)
    assert visited == [(0, "a"), (1, "b"), (2, "c")]
    assert len(alive) == 3


@pytest.mark.parametrize(
    ("told", "formats"),
    [({}, ["auto", "raw", "raw"]), ({"own_templates": True}, ["auto"] * 3),
     ({"prompt_format": "raw"}, ["raw"] * 3)],
)  # fmt: skip
def test_later_policies_are_prompted_like_the_base(
    sources: tuple[str, ...], told: dict[str, object], formats: list[str]
):
    found: list[str] = []
    config = RunConfig(policies=sources, task="countdown", **told)  # type: ignore[arg-type]
    in_turn(config, lambda _, __, options, ___: found.append(options.prompt_format))
    assert found == formats
