"""Table of examples: prompts whose successes fell most, with rollouts before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.study import Study, TaskStudy
from rewardable.records import Outcome, Rollout, Verdict
from rewardable.results import Example, Label, Row, Table

BEFORE, AFTER = "before", "after"
Judged = tuple[Rollout, Verdict | None]


def examples_table(study: Study, transitions: Table) -> Table:
    """Quote rollouts of the lost prompts, then of those that fell most, for the last policy."""
    examples = [
        example
        for task in study.tasks
        for pair in task.headline_pairs[-1:]
        for example in _of_pair(study, task, pair, transitions)
    ]
    note = (
        "Lost prompts come first, then those whose success rate fell most. Successes are quoted "
        "before other answers, each text once, with how often it occurred."
    )
    return Table(
        name="examples",
        title="Prompts that fell most",
        notes=(note,) if examples else ("No prompt fell.",),
        examples=tuple(examples),
        provenance=study.provenance,
    )


def _of_pair(study: Study, task: TaskStudy, pair: Pair, transitions: Table) -> list[Example]:
    if pair.before.counts_only or pair.after.counts_only:
        return []
    rows = transitions.select(**pair.labels, kind="prompt")
    fell = [row for row in rows if (row.estimate.value or 0) < 0]
    fell.sort(key=lambda row: (row.labels["call"] != "lost", row.estimate.value))
    chosen = fell[: study.config.max_examples]
    sides = {side: _by_prompt(study, arm, chosen) for side, arm in _sides(pair)}
    texts = {prompt.key: prompt.text for prompt in study.run.prompts(task.task)}
    return [
        example
        for rank, row in enumerate(chosen)
        for side, arm in _sides(pair)
        for example in _quote(study, row, rank, side, arm, sides[side], texts)
    ]


def _sides(pair: Pair) -> tuple[tuple[str, Arm], tuple[str, Arm]]:
    return (BEFORE, pair.before), (AFTER, pair.after)


def _by_prompt(study: Study, arm: Arm, rows: Sequence[Row]) -> dict[str, list[Judged]]:
    found: dict[str, list[Judged]] = {str(row.labels["prompt"]): [] for row in rows}
    keys = list(found)
    for judged in study.run.rollouts(
        policy_key=arm.policy_key, spec_key=arm.spec_key, prompt_keys=keys
    ):
        found[judged[0].id.prompt_key].append(judged)
    return found


def _quote(
    study: Study, row: Row, rank: int, side: str, arm: Arm,
    found: dict[str, list[Judged]], texts: dict[str, str],
) -> list[Example]:  # fmt: skip
    key = str(row.labels["prompt"])
    common: dict[str, Label] = {**arm.labels, "prompt": key, "rank": rank, "side": side}
    common |= {"call": row.labels["call"], "n": row.labels[f"n_{side}"]}
    common |= {"c": row.labels[f"c_{side}"]}
    counted = Counter(_text_and_outcome(judged) for judged in found[key])
    order = sorted(
        counted.items(), key=lambda item: (item[0][1] != Outcome.CORRECT, -item[1], item[0])
    )
    return [
        Example(
            labels={**common, "outcome": outcome, "times": times},
            prompt=texts.get(key, key),
            completion=text,
        )
        for (text, outcome), times in order[: study.config.rollouts_per_example]
    ]


def _text_and_outcome(judged: Judged) -> tuple[str, str]:
    rollout, verdict = judged
    outcome = Outcome.UNGRADED if verdict is None else verdict.outcome
    return rollout.completion.text, str(outcome)
