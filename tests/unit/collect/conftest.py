from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rewardable.errors import DataError
from rewardable.protocols import SampleRequest
from rewardable.records import (
    Completion,
    FinishReason,
    Graded,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    user_prompt,
)

SPEC = SamplingSpec()
POLICY = Policy(name="base", weights="w0", template="raw")
PROMPTS = [user_prompt("t", "1", f"q{i}") for i in range(4)]


def row(prompt: Prompt, index: int, text: str = "right") -> Rollout:
    return Rollout(
        id=RolloutId(policy_key=POLICY.key, spec_key=SPEC.key, prompt_key=prompt.key, index=index),
        completion=Completion(text=text, token_ids=(1, 2), finish_reason=FinishReason.STOP),
    )


@dataclass
class MemorySink:
    """A sink that keeps rows in memory, with a log of what was written when."""

    rows: dict[RolloutId, Rollout] = field(default_factory=dict)
    verdicts: dict[RolloutId, Verdict] = field(default_factory=dict)
    writes: list[int] = field(default_factory=list)
    poison: Callable[[Rollout], bool] = lambda _: False

    def add_rollouts(self, rollouts: Sequence[Rollout]) -> None:
        if any(rollout.id in self.rows for rollout in rollouts):
            raise DataError("already stored")
        if any(self.poison(rollout) for rollout in rollouts):
            raise DataError("cannot be stored")
        self.rows.update({rollout.id: rollout for rollout in rollouts})
        self.writes.append(len(rollouts))

    def rollout_ids(self, policy_key: str, spec_key: str) -> set[RolloutId]:
        return {
            one for one in self.rows if (one.policy_key, one.spec_key) == (policy_key, spec_key)
        }

    def pending(self, verifier: str, version: str, prompt_keys: Iterable[str]) -> Iterator[Rollout]:
        keys = set(prompt_keys)
        wanted = [row for one, row in self.rows.items() if one.prompt_key in keys]
        return iter([row for row in wanted if row.id not in self.verdicts])

    def add_verdicts(self, verdicts: Sequence[Graded]) -> None:
        self.verdicts.update({graded.id: graded.verdict for graded in verdicts})
        self.writes.append(len(verdicts))


@dataclass
class RetryMemorySink(MemorySink):
    """A sink that can replace failed rows."""

    def failed_ids(self, policy_key: str, spec_key: str) -> set[RolloutId]:
        failed = FinishReason.FAILED
        return {one for one, row in self.rows.items() if row.completion.finish_reason is failed}

    def replace_failed(self, rollouts: Sequence[Rollout]) -> None:
        self.rows.update({rollout.id: rollout for rollout in rollouts})


@dataclass
class ScriptedSampler:
    """Yields ``text_of(prompt, index)`` for every request; ``before`` may raise."""

    text_of: Callable[[Prompt, int], str] = lambda prompt, index: f"{prompt.text}/{index}"
    before: Callable[[int], None] = lambda count: None
    policy: Policy = POLICY
    asked: list[tuple[str, int]] = field(default_factory=list)

    def sample(self, requests: Sequence[SampleRequest], spec: SamplingSpec) -> Iterator[Rollout]:
        for request in requests:
            for index in request.indices:
                self.before(len(self.asked))
                self.asked.append((request.prompt.key, index))
                yield row(request.prompt, index, self.text_of(request.prompt, index))


@dataclass
class Kit:
    """What the tests build from."""

    prompts: list[Prompt]
    spec: SamplingSpec
    policy: Policy
    row: Callable[..., Rollout] = row
    Sampler: type[ScriptedSampler] = ScriptedSampler
    Sink: type[MemorySink] = MemorySink
    RetrySink: type[RetryMemorySink] = RetryMemorySink


@pytest.fixture
def kit(monkeypatch: pytest.MonkeyPatch) -> Kit:
    support = Path(__file__).resolve().parents[2] / "support"
    monkeypatch.syspath_prepend(str(support))
    return Kit(prompts=PROMPTS, spec=SPEC, policy=POLICY)
