from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rewardable.records import (
    Completion,
    FinishReason,
    Graded,
    Outcome,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.store import Run


@dataclass
class World:
    """A run with three prompts, one policy and one spec."""

    run: Run
    prompts: list[Prompt]
    policy: Policy
    spec: SamplingSpec

    def id(self, prompt: int, index: int) -> RolloutId:
        return RolloutId(
            policy_key=self.policy.key,
            spec_key=self.spec.key,
            prompt_key=self.prompts[prompt].key,
            index=index,
        )

    def rollout(self, prompt: int, index: int, text: str = "x", **fields: Any) -> Rollout:
        fields.setdefault("finish_reason", FinishReason.STOP)
        return Rollout(id=self.id(prompt, index), completion=Completion(text=text, **fields))

    def verdict(
        self, prompt: int, index: int, outcome: Outcome = Outcome.CORRECT, **fields: Any
    ) -> Graded:
        fields = {"verifier": "v", "version": "1", **fields}
        if outcome is Outcome.UNGRADED:
            fields.setdefault("reason", "timeout: 5 s")
        return Graded(id=self.id(prompt, index), verdict=Verdict(outcome=outcome, **fields))

    @property
    def place(self) -> dict[str, str]:
        return {"policy_key": self.policy.key, "spec_key": self.spec.key}

    @property
    def keys(self) -> list[str]:
        return [prompt.key for prompt in self.prompts]


def build(path: Path) -> World:
    prompts = [user_prompt("t", "1", f"q{i}", {"totals": {"solution": 3 + i}}) for i in range(3)]
    prompts.sort(key=lambda prompt: prompt.key)
    world = World(
        run=Run.create(path, {"n": 4}),
        prompts=prompts,
        policy=Policy(name="base", weights="w0", template="raw"),
        spec=SamplingSpec(),
    )
    world.run.add_prompts(world.prompts)
    world.run.add_policies([world.policy])
    world.run.add_specs([world.spec])
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return build(tmp_path / "run")


@pytest.fixture(scope="session")
def build_world() -> Callable[[Path], World]:
    return build


@pytest.fixture
def stored(world: World) -> Callable[[], Sequence[Rollout]]:
    """Return what a fresh reader sees."""

    def read() -> Sequence[Rollout]:
        fresh = Run.open(world.run.path)
        return [rollout for rollout, _ in fresh.rollouts(**world.place)]

    return read
