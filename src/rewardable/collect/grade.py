"""Second pass: judge stored rollouts. Grading again never samples again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from rewardable.collect.judge import judge, without_verifier
from rewardable.collect.pool import Job, judged_in_pool
from rewardable.collect.progress import Buffer, Meter, OnProgress
from rewardable.errors import ConfigError
from rewardable.protocols import VerdictSink, Verifier
from rewardable.records import Graded, Outcome, Prompt, Rollout, Verdict

FLUSH_ROWS = 20_000
FLUSH_S = 5.0


@runtime_checkable
class PendingCounter(Protocol):
    """A sink that can say beforehand how much there is to grade."""

    def n_pending(self, verifier: str, version: str, prompt_keys: Iterable[str]) -> int:
        """Return how many rollouts ``pending`` would yield."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class GradeReport:
    """What a call of :func:`grade` did: rollouts judged, by outcome.

    reasons: reason -> number of ungraded rollouts, the most frequent first.
    """

    n_graded: int
    n_correct: int
    n_wrong: int
    n_ungraded: int
    reasons: Mapping[str, int] = field(default_factory=dict)


def grade(
    verifier: Verifier,
    prompts: Sequence[Prompt],
    store: VerdictSink,
    *,
    workers: int = 0,
    timeout_s: float | None = None,
    rollouts: Iterable[Rollout] | None = None,
    flush_rows: int = FLUSH_ROWS,
    flush_s: float = FLUSH_S,
    on_progress: OnProgress | None = None,
) -> GradeReport:
    """Judge every stored rollout of ``prompts`` that this verifier version has not judged.

    ``workers`` processes judge in parallel; with 0 and no timeout the verifier runs in this
    process. ``timeout_s`` is the wall time that one verdict may take: the process of a hanging
    verifier is killed. A verifier that raises, hangs or dies leaves UNGRADED with the reason; so
    does a rollout whose engine failed, without the verifier being asked. ``rollouts`` overrides
    which rollouts are judged. With processes the verifier must be picklable.

    Raises ConfigError for settings out of range.
    """
    if workers < 0 or (timeout_s is not None and timeout_s <= 0):
        raise ConfigError(
            f"expected workers >= 0 and timeout_s > 0, got workers={workers}, "
            f"timeout_s={timeout_s}; use timeout_s=None for no limit."
        )
    by_key = {prompt.key: prompt for prompt in prompts}
    asked = rollouts if rollouts is not None else _pending(verifier, by_key, store)
    jobs = (Job(rollout.id, by_key[rollout.id.prompt_key], rollout.completion) for rollout in asked)
    if workers or timeout_s is not None:
        judged = judged_in_pool(verifier, jobs, workers=max(workers, 1), timeout_s=timeout_s)
    else:
        judged = _judged_here(verifier, jobs)
    tally = _Tally(Meter(on_progress, done=0, total=_total(verifier, by_key, store, rollouts)))
    with Buffer(store.add_verdicts, max_rows=flush_rows, max_s=flush_s) as buffer:
        for graded in judged:
            buffer.add(graded)
            tally.add(graded.verdict)
    tally.meter.finish()
    return tally.report()


def _judged_here(verifier: Verifier, jobs: Iterable[Job]) -> Iterator[Graded]:
    for job in jobs:
        verdict = without_verifier(verifier, job.completion)
        if verdict is None:
            verdict = judge(verifier, job.prompt, job.completion)
        yield Graded(id=job.id, verdict=verdict)


class _Tally:
    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self._outcomes: Counter[Outcome] = Counter()
        self._reasons: Counter[str] = Counter()

    def add(self, verdict: Verdict) -> None:
        self._outcomes[verdict.outcome] += 1
        if verdict.outcome is Outcome.UNGRADED:
            self._reasons[verdict.reason] += 1
        self.meter.add()

    def report(self) -> GradeReport:
        return GradeReport(
            n_graded=self._outcomes.total(),
            n_correct=self._outcomes[Outcome.CORRECT],
            n_wrong=self._outcomes[Outcome.WRONG],
            n_ungraded=self._outcomes[Outcome.UNGRADED],
            reasons=dict(self._reasons.most_common()),
        )


def _pending(
    verifier: Verifier, prompts: Mapping[str, Prompt], store: VerdictSink
) -> Iterator[Rollout]:
    return iter(store.pending(verifier.name, verifier.version, prompts))


def _total(
    verifier: Verifier,
    prompts: Mapping[str, Prompt],
    store: VerdictSink,
    rollouts: Iterable[Rollout] | None,
) -> int:
    if rollouts is not None or not isinstance(store, PendingCounter):
        return 0
    return store.n_pending(verifier.name, verifier.version, prompts)
