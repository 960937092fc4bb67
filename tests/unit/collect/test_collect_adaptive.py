"""Sampling and grading in turns: nothing doubled, nothing decided by an interruption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from rewardable.collect import AdaptiveReport, Outcomes, collect_adaptively
from rewardable.errors import BoundaryError
from rewardable.records import Completion, Outcome, Prompt, Verdict, failed_completion

ROUND, WANTED, MOST = 4, 3, 20


@dataclass(frozen=True)
class ByText:
    """``yes`` is right, ``odd`` cannot be graded."""

    name: str = "by-text"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        if completion.text == "odd":
            raise ValueError("odd")
        outcome = Outcome.CORRECT if completion.text == "yes" else Outcome.WRONG
        return Verdict(outcome=outcome, verifier=self.name, version=self.version)


def need(prompt_key: str, outcomes: Any) -> int:
    """Ask for rounds of four until three are right or twenty are judged."""
    graded = [one for one in outcomes if one is not Outcome.UNGRADED]
    for look in range(ROUND, len(graded) + 1, ROUND):
        if sum(one is Outcome.CORRECT for one in graded[:look]) >= WANTED or look >= MOST:
            return 0
    return ROUND - len(graded) % ROUND


def text_of(prompt: Prompt, index: int) -> str:
    place = int(prompt.text[-1])
    if place == 3:
        return "odd" if index % 5 == 4 else "no"
    return "yes" if (index * 7 + place) % (place + 1) == 0 else "no"


def collect(kit: Any, sink: Any, **sampler: Any) -> tuple[AdaptiveReport, Any]:
    engine = kit.Sampler(text_of=text_of, **sampler)
    judged: Outcomes = {}
    for one, verdict in sink.verdicts.items():
        judged.setdefault(one.prompt_key, {})[one.index] = verdict.outcome
    report = collect_adaptively(
        engine, ByText(), kit.prompts, need, kit.spec, sink, judged, flush_s=0.0
    )
    return report, engine


def indices(sink: Any, prompt: Prompt) -> list[int]:
    return sorted(one.index for one in sink.rows if one.prompt_key == prompt.key)


def test_prompts_end_when_nothing_more_is_needed_and_a_second_call_draws_nothing(kit: Any) -> None:
    sink = kit.Sink()
    report, _ = collect(kit, sink)
    assert [len(indices(sink, prompt)) for prompt in kit.prompts] == [4, 8, 8, 24]
    for prompt in kit.prompts:
        assert indices(sink, prompt) == list(range(len(indices(sink, prompt))))
    assert (report.n_done, report.n_new, report.n_graded, report.n_ungraded) == (44, 44, 44, 4)
    assert report.why_ungraded == {"ValueError: odd": 4}
    again, engine = collect(kit, sink)
    assert (again.n_done, again.n_new, again.rounds, engine.asked) == (44, 0, 0, [])


@pytest.mark.parametrize("moment", range(44))
def test_an_interruption_anywhere_changes_nothing(kit: Any, moment: int) -> None:
    whole, broken = kit.Sink(), kit.Sink()
    collect(kit, whole)

    def stop(count: int) -> None:
        if count == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(kit, broken, before=stop)
    keep = list(broken.rows)[: -1 - moment % 3] if moment % 2 else list(broken.rows)
    broken.rows = {one: broken.rows[one] for one in keep}
    broken.verdicts = {one: said for one, said in broken.verdicts.items() if one in broken.rows}
    report, _ = collect(kit, broken)
    assert broken.rows == whole.rows
    assert broken.verdicts == whole.verdicts
    assert report.n_done == 44


def test_failed_rows_are_replaced_by_further_ones(kit: Any) -> None:
    class Failing(kit.Sampler):
        def sample(self, requests: Any, spec: Any) -> Any:
            for row in super().sample(requests, spec):
                if row.id.index == 1:
                    object.__setattr__(row, "completion", failed_completion("out of memory"))
                yield row

    sink = kit.Sink()
    prompts = kit.prompts[:1]
    report = collect_adaptively(
        Failing(text_of=text_of), ByText(), prompts, need, kit.spec, sink, {}
    )
    assert indices(sink, prompts[0]) == [0, 1, 2, 3, 4]
    assert (report.n_failed, report.n_ungraded, report.rounds) == (1, 1, 2)


def test_a_rollout_without_a_verdict_ends_the_turns(kit: Any) -> None:
    class Forgetful(kit.Sink):
        def pending(self, *_: Any) -> Any:
            return iter(())

    with pytest.raises(BoundaryError, match="without a verdict"):
        collect(kit, Forgetful())
