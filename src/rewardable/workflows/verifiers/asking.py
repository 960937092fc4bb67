"""Ask a verifier and note what happened: the verdict, whether it raised, how long it took."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewardable.collect.judge import judge
from rewardable.collect.pool import Job, judged_in_pool
from rewardable.protocols import Verifier
from rewardable.records import Completion, Prompt, RolloutId, Verdict

SECONDS = "probe seconds"
RAISED = "raised "


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A verifier that notes its seconds as a part, and an exception as a reason."""

    inner: Verifier

    @property
    def name(self) -> str:
        """Name of the inner one."""
        return self.inner.name

    @property
    def version(self) -> str:
        """Version of the inner one."""
        return self.inner.version

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; never raises."""
        recorder = _Recorder(self.inner)
        before = time.perf_counter()
        verdict = judge(recorder, prompt, completion)
        seconds = time.perf_counter() - before
        reason = f"{RAISED}{verdict.reason}" if recorder.raised else verdict.reason
        return replace(verdict, reason=reason, parts={**verdict.parts, SECONDS: seconds})


class _Recorder:
    """Passes a verifier's verdicts on and remembers whether it raised."""

    def __init__(self, inner: Verifier) -> None:
        self._inner = inner
        self.name, self.version = inner.name, inner.version
        self.raised = False

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        try:
            return self._inner.verify(prompt, completion)
        except (Exception, SystemExit):
            self.raised = True
            raise


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A verdict without the note, and its seconds (None: it never came)."""

    verdict: Verdict
    seconds: float | None

    @property
    def broke(self) -> bool:
        """True when the verifier raised, hung or died instead of saying something."""
        reason = self.verdict.reason
        return self.seconds is None or reason.startswith(RAISED)


def ask(
    verifier: Verifier, asked: Sequence[tuple[Prompt, Completion]], *, timeout_s: float | None
) -> list[Answer]:
    """Return the verifier's answers, in order; with a limit it runs in a process of its own.

    Raises ConfigError when it must and cannot be sent to a process.
    """
    watched = Watched(inner=verifier)
    if timeout_s is None:
        return [_noted(watched.verify(prompt, completion)) for prompt, completion in asked]
    jobs = (Job(_id(i), prompt, completion) for i, (prompt, completion) in enumerate(asked))
    found: dict[int, Answer] = dict(_in_process(watched, jobs, timeout_s))
    return [found[i] for i in range(len(asked))]


def _in_process(
    watched: Watched, jobs: Iterator[Job], timeout_s: float
) -> Iterator[tuple[int, Answer]]:
    for graded in judged_in_pool(watched, jobs, workers=1, timeout_s=timeout_s):
        yield graded.id.index, _noted(graded.verdict)


def _noted(verdict: Verdict) -> Answer:
    parts = dict(verdict.parts)
    seconds = parts.pop(SECONDS, None)
    return Answer(verdict=replace(verdict, parts=parts), seconds=seconds)


def _id(index: int) -> RolloutId:
    return RolloutId(policy_key="probe", spec_key="probe", prompt_key="probe", index=index)
