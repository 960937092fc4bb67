"""Stored rollouts judged again, beside the verdicts that they have. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from rewardable.collect.judge import judge
from rewardable.collect.pool import Job, judged_in_pool
from rewardable.errors import ConfigError
from rewardable.protocols import Verifier
from rewardable.records import Completion, FinishReason, Graded, Prompt, Rollout, RolloutId, Verdict
from rewardable.store import Group, Run
from rewardable.workflows.events import Event, OnEvent, ignore


class Pair(NamedTuple):
    """A rollout with its stored verdict and another verifier's."""

    rollout: Rollout
    old: Verdict
    new: Verdict


@dataclass
class Rescoring:
    """One pass over the rollouts of a task: ``groups`` are what the run holds of it.

    old: name and version of the stored verdicts; None takes each rollout's newest.
    A text that a policy gave to a prompt several times is judged once. Counters are filled on the
    way: judged (texts that were), without_old (rollouts that have no such verdict), failed
    (rollouts whose engine failed), compared (rollouts by the verifier of their old verdict).
    """

    run: Run
    groups: Sequence[Group]
    verifier: Verifier
    old: tuple[str, str] | None = None
    workers: int = 0
    timeout_s: float | None = None
    on_event: OnEvent = ignore
    judged: int = 0
    without_old: int = 0
    failed: int = 0
    compared: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def __post_init__(self) -> None:
        """Refuse settings out of range with a ConfigError."""
        if self.workers < 0 or (self.timeout_s is not None and self.timeout_s <= 0):
            raise ConfigError(
                f"expected workers >= 0 and timeout_s > 0, got {self.workers}, {self.timeout_s}."
            )
        self._waiting: dict[RolloutId, list[tuple[Rollout, Verdict]]] = {}

    @property
    def task(self) -> str:
        """The task of the groups."""
        return self.groups[0].task

    def pairs(self) -> Iterator[Pair]:
        """Yield every rollout that has the old verdict, in any order."""
        prompts = {prompt.key: prompt for prompt in self.run.prompts(self.task)}
        total = sum(group.n_rollouts for group in self.groups)
        done = 0
        for graded in self._verdicts(self._jobs(prompts)):
            for rollout, old in self._waiting.pop(graded.id):
                done += 1
                yield Pair(rollout, old, graded.verdict)
            self._tell(done, total)
        self._tell(total, total)

    def _verdicts(self, jobs: Iterator[Job]) -> Iterator[Graded]:
        if self.workers or self.timeout_s is not None:
            yield from judged_in_pool(
                self.verifier, jobs, workers=max(self.workers, 1), timeout_s=self.timeout_s
            )
            return
        for job in jobs:
            verdict = judge(self.verifier, job.prompt, job.completion)
            yield Graded(id=job.id, verdict=verdict)

    def _jobs(self, prompts: Mapping[str, Prompt]) -> Iterator[Job]:
        for group in self.groups:
            rows = self._rows(group.policy_key, group.spec_key, prompts)
            for key, found in groupby(rows, key=lambda row: row[0].id.prompt_key):
                yield from self._distinct(prompts[key], list(found))

    def _rows(
        self, policy_key: str, spec_key: str, prompts: Mapping[str, Prompt]
    ) -> Iterator[tuple[Rollout, Verdict]]:
        name, version = self.old or (None, None)
        for rollout, verdict in self.run.rollouts(
            policy_key=policy_key,
            spec_key=spec_key,
            prompt_keys=prompts,
            verifier=name,
            version=version,
        ):
            if rollout.completion.finish_reason is FinishReason.FAILED:
                self.failed += 1
            elif verdict is None:
                self.without_old += 1
            else:
                called = (verdict.verifier, verdict.version)
                self.compared[called] = self.compared.get(called, 0) + 1
                yield rollout, verdict

    def _distinct(self, prompt: Prompt, rows: Sequence[tuple[Rollout, Verdict]]) -> Iterator[Job]:
        by_text: dict[tuple[str, FinishReason], list[tuple[Rollout, Verdict]]] = {}
        for rollout, verdict in rows:
            completion = rollout.completion
            place = (completion.text, completion.finish_reason)
            by_text.setdefault(place, []).append((rollout, verdict))
        for found in by_text.values():
            first = found[0][0]
            self._waiting[first.id] = found
            self.judged += 1
            yield Job(first.id, prompt, _without_floats(first.completion))

    def _tell(self, done: int, total: int) -> None:
        self.on_event(Event(stage=f"judging {self.task} again", done=done, total=total))


def named_verifier(text: str) -> tuple[str, str] | None:
    """Read ``NAME@VERSION``; None for an empty text, ConfigError for anything else."""
    if not text:
        return None
    name, at, version = text.rpartition("@")
    if not at or not name or not version:
        raise ConfigError(f"expected NAME@VERSION of stored verdicts, got {text!r}.")
    return name, version


def _without_floats(completion: Completion) -> Completion:
    """Leave out what no verifier reads and what is long to send."""
    return replace(completion, logprobs=(), sampling_logprobs=(), entropies=())
