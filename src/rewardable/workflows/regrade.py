"""Judge imported rollouts by a verifier of ours, and say how often it agrees with the dump."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardable.collect import Progress
from rewardable.collect import grade as grade_pass
from rewardable.errors import DataError
from rewardable.importers import ImportReport
from rewardable.protocols import Task
from rewardable.records import Json, Prompt, Rollout, digest
from rewardable.store import Run
from rewardable.workflows.events import Event, OnEvent, ignore

MOST_PROMPTS = 8192
"""Of a task, that are compared with a dump which brings no reference."""
_SAID = {1: "correct", 0: "wrong", -1: "ungraded"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Regraded:
    """Verdicts of ``verifier`` on imported rollouts.

    pairs: (the dump's outcome, ours) -> rollouts, ``"ungraded"`` where the dump has none.
    reasons: why ours are ungraded. n_matched: prompts whose facts came from the task, since the
    dump has no reference.
    """

    verifier: str
    n_graded: int
    n_correct: int
    n_ungraded: int
    n_matched: int
    pairs: Mapping[tuple[str, str], int]
    reasons: Mapping[str, int]

    @property
    def n_both(self) -> int:
        """Rollouts that both the dump and we call right or wrong."""
        return sum(n for pair, n in self.pairs.items() if "ungraded" not in pair)

    @property
    def n_agree(self) -> int:
        """Of those, how many we call the same."""
        return sum(n for (a, b), n in self.pairs.items() if a == b != "ungraded")


def regrade(
    run: Run,
    report: ImportReport,
    task: Task,
    *,
    workers: int = 0,
    timeout_s: float | None = None,
    on_event: OnEvent = ignore,
) -> Regraded:
    """Judge what was imported of the policies of ``report``; the new verdicts are the newest."""
    verifier, policies = task.verifier, set(report.policies.values())
    before = _outcomes(run, policies)
    prompts, matched = _with_facts(run.prompts(), task)
    keys = [prompt.key for prompt in prompts]
    total = run.n_pending(verifier.name, verifier.version, keys)

    def tell(progress: Progress) -> None:
        stage = f"regrading by {verifier.name}"
        on_event(Event(stage=stage, done=progress.done, total=total))

    def wanted() -> Iterator[Rollout]:
        for rollout in run.pending(verifier.name, verifier.version, keys):
            if rollout.id.policy_key in policies:
                yield rollout

    done = grade_pass(
        verifier,
        prompts,
        run,
        rollouts=wanted(),
        workers=workers,
        timeout_s=timeout_s,
        on_progress=tell,
    )
    after = _outcomes(run, policies)
    pairs = Counter(
        (_SAID[old], _SAID[new])
        for group, outcomes in after.items()
        for old, new in zip(before[group], outcomes, strict=True)
    )
    return Regraded(
        verifier=f"{verifier.name}@{verifier.version}",
        n_graded=done.n_graded,
        n_correct=done.n_correct,
        n_ungraded=done.n_ungraded,
        n_matched=matched,
        pairs=pairs,
        reasons=done.reasons,
    )


def _outcomes(run: Run, policies: set[str]) -> dict[tuple[str, str, str], list[int]]:
    """Return the newest outcome of every rollout, in the order of (prompt, index)."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for group in run.groups():
        if group.policy_key in policies and group.n_rollouts:
            samples = run.samples(
                policy_key=group.policy_key, spec_key=group.spec_key, task=group.task
            )
            place = (group.task, group.policy_key, group.spec_key)
            found[place] = samples.outcome_R.tolist()
    return found


def _with_facts(prompts: Sequence[Prompt], task: Task) -> tuple[list[Prompt], int]:
    """Give each prompt the facts that a verifier reads: the dump's, else those of the task."""
    stated = [replace(prompt, facts=facts_of(prompt.facts)) for prompt in prompts]
    if all(prompt.facts for prompt in stated):
        return stated, 0
    by_text: dict[str, Prompt] = {}
    by_id: dict[str, Prompt] = {}
    for one in _all_prompts(task):
        by_text[_plain(one.text)] = one
        if "code" in one.facts:
            by_text[_plain(str(one.facts["code"]))] = one
        by_id[str(one.facts.get("source", ""))] = one
    known = {
        digest("imported", name, source): one
        for name in {prompt.task for prompt in prompts}
        for source, one in by_id.items()
    }
    twins = {
        prompt.key: known.get(prompt.key) or by_text.get(_plain(prompt.text))
        for prompt in stated
        if not prompt.facts
    }
    matched = sum(twin is not None for twin in twins.values())
    return [_joined(prompt, twins.get(prompt.key)) for prompt in stated], matched


def _joined(prompt: Prompt, twin: Prompt | None) -> Prompt:
    if twin is None:
        return prompt
    return replace(prompt, facts=twin.facts, messages=prompt.messages or twin.messages)


def facts_of(facts: Mapping[str, Json]) -> dict[str, Json]:
    """Read a dump's reference as a verifier's facts; an unreadable one is left out.

    >>> facts_of({"answer": "She sells 9 eggs. #### 18"})
    {'answer': '18'}
    >>> facts_of({"answer": {"target": 24, "numbers": [4, 6]}})
    {'target': 24, 'numbers': [4, 6]}
    """
    rest = {name: value for name, value in facts.items() if name != "answer"}
    answer: Any = facts.get("answer")
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, str) and answer.lstrip().startswith("{"):
        answer = _object(answer)
    if isinstance(answer, dict):
        return {**answer, **rest}
    if isinstance(answer, str):
        return {**rest, "answer": answer.rpartition("####")[2].strip()}
    return rest if answer is None or isinstance(answer, list) else {**rest, "answer": str(answer)}


def _object(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _all_prompts(task: Task) -> Sequence[Prompt]:
    """Return as many prompts as the task has, up to ``MOST_PROMPTS``."""
    low, high, found = 0, MOST_PROMPTS + 1, list[Prompt]()
    count = 128
    while low < count < high:
        try:
            found, low = list(task.prompts(count, 0)), count
        except DataError:
            high = count
        count = 2 * low if 2 * low < high and high > MOST_PROMPTS else (low + high) // 2
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())
