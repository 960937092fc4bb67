"""Every training rollout with its verdict, to where rollouts are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from rewardable.protocols import RolloutSink, VerdictSink
from rewardable.records import (
    TRAINING,
    Completion,
    FinishReason,
    Graded,
    Policy,
    Prompt,
    Rollout,
    RolloutId,
    SamplingSpec,
)
from rewardable.train.taps import RolloutBatch

FLUSH_ROWS = 8192


class TrainingSink(RolloutSink, VerdictSink, Protocol):
    """Where training rollouts go, with whom and what they are of."""

    def add_policies(self, policies: Iterable[Policy]) -> None:
        """Add policies; known ones are left as they are."""
        ...

    def add_specs(self, specs: Iterable[SamplingSpec]) -> None:
        """Add sampling specs; known ones are left as they are."""
        ...

    def add_prompts(self, prompts: Iterable[Prompt]) -> None:
        """Add prompts; known ones are left as they are."""
        ...


class RolloutRecorder:
    """A tap that keeps what was sampled. Every step is a policy of its own, marked as in training.

    run: names the training run (base, recipe and seed); ``template`` is the policies' template.
    Rows are handed on ``flush_rows`` at a time, and by :meth:`flush`, which the step log calls
    before every checkpoint and at the end: a run that goes on from a checkpoint finds the rows of
    all steps before it. Steps that are done again keep the rows of the first time.
    """

    def __init__(
        self,
        sink: TrainingSink,
        prompts: Mapping[str, Prompt],
        spec: SamplingSpec,
        *,
        run: str,
        template: str,
        flush_rows: int = FLUSH_ROWS,
    ) -> None:
        self._sink = sink
        self._prompts = prompts
        self._spec, self._spec_key = spec, spec.key
        self._run = run
        self._template = template
        self._flush_rows = flush_rows
        self._waiting: list[tuple[Rollout, Graded]] = []
        self._drawn: Counter[str] = Counter()
        self._step = -1
        self._policies: dict[int, Policy] = {}

    def __call__(self, batch: RolloutBatch) -> dict[str, float]:
        """Take a batch; there is nothing to log."""
        if batch.step != self._step:
            self._step = batch.step
            self._drawn.clear()
        policy = self.policy(batch.step).key
        self._waiting += [self._pair(batch, row, policy) for row in range(len(batch.texts))]
        if len(self._waiting) >= self._flush_rows:
            self.flush()
        return {}

    def policy(self, step: int) -> Policy:
        """Return the policy as it was after ``step`` optimiser steps."""
        if step not in self._policies:
            self._policies[step] = Policy(
                name=f"training step {step}",
                weights=f"training:{self._run}@{step}",
                template=self._template,
                source=self._run,
            )
        return self._policies[step]

    def flush(self) -> int:
        """Hand all waiting rows on; return how many were new."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return 0
        policies = {rollout.id.policy_key for rollout, _ in waiting}
        stored = {one for key in policies for one in self._sink.rollout_ids(key, self._spec_key)}
        new = [pair for pair in waiting if pair[0].id not in stored]
        self._register(policies, {rollout.id.prompt_key for rollout, _ in new})
        if new:
            self._sink.add_rollouts([rollout for rollout, _ in new])
            self._sink.add_verdicts([graded for _, graded in new])
        return len(new)

    def _register(self, policies: set[str], prompts: Iterable[str]) -> None:
        self._sink.add_policies(p for p in self._policies.values() if p.key in policies)
        self._sink.add_specs([self._spec])
        self._sink.add_prompts(self._prompts[key] for key in sorted(prompts))

    def _pair(self, batch: RolloutBatch, row: int, policy: str) -> tuple[Rollout, Graded]:
        key = batch.prompt_keys[row]
        place = RolloutId(
            policy_key=policy,
            spec_key=self._spec_key,
            prompt_key=key,
            index=self._drawn[key],
        )
        self._drawn[key] += 1
        rollout = Rollout(
            id=place,
            completion=Completion(
                text=batch.texts[row],
                token_ids=batch.token_ids[row],
                finish_reason=_finish(batch, row),
            ),
            provenance=f"{TRAINING}{self._run} step {batch.step}",
        )
        return rollout, Graded(id=place, verdict=batch.shaped[row].verdict)


def _finish(batch: RolloutBatch, row: int) -> FinishReason:
    if not batch.token_ids[row]:
        return FinishReason.UNKNOWN
    return FinishReason.LENGTH if batch.truncated[row] else FinishReason.STOP


def flush_all(parts: Sequence[object]) -> None:
    """Flush the recorders among some taps."""
    for part in parts:
        if isinstance(part, RolloutRecorder):
            part.flush()
