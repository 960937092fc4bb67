"""Both passes in turns: prompts that need more are sampled and graded again, round by round.

How many more a prompt needs is asked of a callable; nothing is known here of statistics. What it
is asked depends on the stored verdicts alone, so a run that was interrupted anywhere, within a
round too, goes on to the same rollouts as one that was not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rewardable.collect.generate import FLUSH_S, GenerateReport, generate
from rewardable.collect.grade import GradeReport, grade
from rewardable.collect.progress import OnProgress
from rewardable.errors import BoundaryError
from rewardable.protocols import RolloutSink, Sampler, VerdictSink, Verifier
from rewardable.records import Graded, Outcome, Prompt, Rollout, RolloutId, SamplingSpec

Outcomes = dict[str, dict[int, Outcome]]
"""Prompt key -> index -> what the rollout was judged to be."""


class Need(Protocol):
    """Says how many further rollouts a prompt needs."""

    def __call__(self, prompt_key: str, outcomes: Sequence[Outcome]) -> int:
        """Return the number; 0 ends the prompt.

        ``outcomes``: of rollouts 0, 1, 2, ... in this order, ungraded ones included. The answer
        must be the same whether a round came in whole or in parts: for a part of a round, what
        is left of it.
        """
        ...


class Store(RolloutSink, VerdictSink, Protocol):
    """Keeps both rollouts and verdicts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaptiveReport:
    """What a call of :func:`collect_adaptively` did.

    n_done: rollouts of these prompts that are stored and judged now. n_new: of these, sampled by
    this call. n_failed: new rows whose engine failed. n_graded, n_ungraded: verdicts added.
    reasons: why rows failed; why_ungraded: why verdicts are UNGRADED. tokens: generated.
    """

    n_done: int
    n_new: int
    n_failed: int
    n_graded: int
    n_ungraded: int
    rounds: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    why_ungraded: Mapping[str, int] = field(default_factory=dict)
    tokens: int = 0


def collect_adaptively(
    sampler: Sampler,
    verifier: Verifier,
    prompts: Sequence[Prompt],
    need: Need,
    spec: SamplingSpec,
    store: Store,
    judged: Outcomes,
    *,
    retry_failed: bool = False,
    workers: int = 0,
    timeout_s: float | None = None,
    flush_s: float = FLUSH_S,
    on_progress: OnProgress | None = None,
) -> AdaptiveReport:
    """Sample and grade in turns until ``need`` asks for nothing more of any prompt.

    ``judged`` is what the store holds of this policy and spec by this verifier version; it is
    brought up to date. An ungraded rollout stays, and ``need`` sees it. ``retry_failed`` draws
    rows again whose engine failed, first of all. Other arguments as for :func:`generate` and
    :func:`grade`. The rollouts of a prompt are always 0..n-1, without a gap at the end.

    Raises BoundaryError when the engine fails, or when a rollout is left without a verdict.
    """
    tally, rounds = _Tally(), 0
    watched = _Watched(store, judged, (sampler.policy.key, spec.key))
    told: dict[str, Any] = {"flush_s": flush_s, "on_progress": on_progress}
    if retry_failed:
        held = {p.key: len(_in_order(judged.get(p.key, {}))) for p in prompts}
        tally.add(generate(sampler, prompts, held, spec, store, retry_failed=True, **told))
    while True:
        found = grade(verifier, prompts, watched, workers=workers, timeout_s=timeout_s,
                      flush_s=flush_s)  # fmt: skip
        tally.judge(found)
        wanted = _wanted(prompts, judged, need)
        if not wanted:
            return tally.report(sum(len(judged.get(p.key, {})) for p in prompts), rounds)
        made = generate(sampler, prompts, wanted, spec, store, **told)
        tally.add(made)
        rounds += 1
        if not made.n_new and not found.n_graded:
            where = f"verifier {verifier.name!r}"
            raise BoundaryError(where, f"left a rollout of {len(wanted)} prompts without a verdict")


def _wanted(prompts: Sequence[Prompt], judged: Outcomes, need: Need) -> dict[str, int]:
    """Return, for the prompts that need more, how many rollouts they shall have in all."""
    wanted: dict[str, int] = {}
    for prompt in prompts:
        outcomes = _in_order(judged.get(prompt.key, {}))
        more = need(prompt.key, outcomes)
        if more > 0:
            wanted[prompt.key] = len(outcomes) + more
    return wanted


def _in_order(found: Mapping[int, Outcome]) -> list[Outcome]:
    """Return the outcomes of 0, 1, 2, ... up to the first index that is not there."""
    ordered: list[Outcome] = []
    while len(ordered) in found:
        ordered.append(found[len(ordered)])
    return ordered


class _Watched:
    """A verdict sink that also notes the outcomes of one policy under one spec."""

    def __init__(self, store: VerdictSink, judged: Outcomes, place: tuple[str, str]) -> None:
        self._store, self._judged, self._place = store, judged, place

    def pending(self, verifier: str, version: str, prompt_keys: Iterable[str]) -> Iterator[Rollout]:
        """Yield this policy's rollouts that are not judged."""
        rows = self._store.pending(verifier, version, prompt_keys)
        return (row for row in rows if self._own(row.id))

    def add_verdicts(self, verdicts: Sequence[Graded]) -> None:
        """Store verdicts, then note them."""
        self._store.add_verdicts(verdicts)
        for one in verdicts:
            self._judged.setdefault(one.id.prompt_key, {})[one.id.index] = one.verdict.outcome

    def _own(self, one: RolloutId) -> bool:
        return (one.policy_key, one.spec_key) == self._place


class _Tally:
    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._ungraded: Counter[str] = Counter()

    def add(self, made: GenerateReport) -> None:
        self._sums.update(n_new=made.n_new, n_failed=made.n_failed, tokens=made.tokens)
        self._reasons.update(made.reasons)

    def judge(self, found: GradeReport) -> None:
        self._sums.update(n_graded=found.n_graded, n_ungraded=found.n_ungraded)
        self._ungraded.update(found.reasons)

    def report(self, done: int, rounds: int) -> AdaptiveReport:
        names = ("n_new", "n_failed", "n_graded", "n_ungraded", "tokens")
        return AdaptiveReport(
            n_done=done,
            rounds=rounds,
            reasons=dict(self._reasons.most_common()),
            why_ungraded=dict(self._ungraded.most_common()),
            **{name: self._sums[name] for name in names},
        )
