"""Table of classes: rates by gold class, balanced accuracy, and what a constant answer would get.

Made for tasks whose prompts carry the fact ``class`` (YES or NO; harmless or to be declined). A
fact ``error`` names the failure of that class ("over-refusal"); its rate is then a row too.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rewardable.measure.arms import Arm, Bools
from rewardable.measure.estimates import PerPrompt, difference_of, mean_of
from rewardable.measure.quantities import pass_curve
from rewardable.measure.rows import certified, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Estimate, Row, Table

ACCURACY, BALANCED, ERROR, CONSTANT = "accuracy", "balanced accuracy", "error rate", "constant"

NOTE = (
    "Balanced accuracy is the mean of the accuracies within the gold classes; a constant answer "
    "gets one over the number of classes, whatever their sizes. Its interval combines those of "
    "the classes. Intervals hold one by one."
)


def classes_table(study: Study) -> Table:
    """Accuracy by class, balanced accuracy, error rates and constant baselines."""
    rows: list[Row] = []
    notes: list[str] = []
    for task in (*study.tasks, *study.screens):
        named = _named(study, task)
        if len({name for name, _ in named}) > 1:
            rows += _task_rows(study, task, named)
            notes += _notes(study, task)
    return Table(
        name="classes",
        title="By gold class",
        rows=tuple(rows),
        notes=(NOTE, *notes) if rows else (),
        provenance=study.provenance,
    )


def _named(study: Study, task: TaskStudy) -> list[tuple[str, str]]:
    """Return (class, name of its error) of every prompt, in the order of the arms; or nothing."""
    facts = {prompt.key: prompt.facts for prompt in study.run.prompts(task.task)}
    found = [facts.get(key, {}) for key in task.arms[0].samples.prompt_keys]
    if not all("class" in each for each in found):
        return []
    return [(str(each["class"]), str(each.get("error", ""))) for each in found]


def _notes(study: Study, task: TaskStudy) -> list[str]:
    prompts = study.run.prompts(task.task)[:1]
    told = [str(prompt.facts["caveat"]) for prompt in prompts if "caveat" in prompt.facts]
    return [f"{task.task}: {text}" for text in told]


def _task_rows(study: Study, task: TaskStudy, named: Sequence[tuple[str, str]]) -> list[Row]:
    sizes = Counter(name for name, _ in named)
    errors = {name: error for name, error in named if error}
    common = {"role": task.role}
    rows = [
        row({"task": task.task, **common}, _share(count, len(named), balanced, len(sizes)),
            metric=CONSTANT, of=BALANCED if balanced else ACCURACY, answer=name)
        for name, count in sizes.items()
        for balanced in (False, True)
    ]  # fmt: skip
    masks = {name: np.array([name == each for each, _ in named]) for name in sizes}
    items = {id(arm): {name: _within(arm, mask) for name, mask in masks.items()}
             for arm in task.arms}  # fmt: skip
    for arm in task.arms:
        found = {name: mean_of(item, study.config) for name, item in items[id(arm)].items()}
        rows += _rows(arm.labels | common, found, errors)
    for pair in task.pairs:
        before, after = items[id(pair.before)], items[id(pair.after)]
        found = {name: difference_of(before[name], after[name], study.config) for name in sizes}
        rows += [
            row(each.labels, each.estimate, certified=certified(each.estimate))
            for each in _rows(pair.labels | common, found, errors, change=True)
        ]
    return rows


def _rows(
    labels: Mapping[str, str], found: Mapping[str, Estimate], errors: Mapping[str, str],
    *, change: bool = False,
) -> list[Row]:  # fmt: skip
    rows = [row(labels, balanced(list(found.values())), metric=BALANCED)]
    rows += [row(labels, one, **{"metric": ACCURACY, "class": name}) for name, one in found.items()]
    rows += [
        row(labels, _turned(found[name], 0.0 if change else 1.0),
            **{"metric": ERROR, "class": name, "error": error})
        for name, error in errors.items()
    ]  # fmt: skip
    return rows


def screen_sentences(study: Study, table: Table) -> tuple[str, ...]:
    """Say how the error rates of the screens stand, and changed, policy by policy."""
    said: list[str] = []
    for task in study.screens:
        base = task.arms[0].policy
        for found in table.select(task=task.task, metric=ERROR, policy=base):
            error = str(found.labels["error"])
            parts = [f"{base} {_percent(found.estimate)}"]
            for arm in task.arms[1:]:
                after = table.one(task=task.task, metric=ERROR, policy=arm.policy, error=error)
                change = table.one(task=task.task, metric=ERROR, after=arm.policy, error=error)
                parts.append(
                    f"{arm.policy} {_percent(after)} (change {_percent(change, 'points')})"
                )
            said.append(f"Screen {task.task}, {error}: {'; '.join(parts)}.")
    return tuple(said)


def _percent(one: Estimate, unit: str = "%") -> str:
    if one.value is None:
        return "unknown"
    sign = "+" if unit == "points" else ""
    text = f"{100 * one.value:{sign}.1f}"
    if one.low is None or one.high is None:
        return f"{text} {unit}"
    return f"{text} {unit} [{100 * one.low:{sign}.1f}, {100 * one.high:{sign}.1f}]"


def balanced(found: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates; the interval adds the arms of theirs in squares."""
    values = [one.value for one in found]
    if any(value is None for value in values):
        none = "no value: a class has none"
        return replace(found[0], value=None, low=None, high=None, warnings=(none,))
    mean = float(np.mean([value for value in values if value is not None]))
    low, high = (_combined(found, mean, end) for end in ("low", "high"))
    known = low is not None and high is not None
    bounds = [_bounds(one) for one in found]
    ungraded = sum(one.n_ungraded for one in found)
    return Estimate(
        value=mean,
        low=low if known else None,
        high=high if known else None,
        level=found[0].level,
        method=f"of {len(found)} classes, arms added in squares; each: {found[0].method}",
        n_prompts=sum(one.n_prompts for one in found),
        n_graded=sum(one.n_graded for one in found),
        n_ungraded=ungraded,
        bound_low=sum(low for low, _ in bounds) / len(found) if ungraded else None,
        bound_high=sum(high for _, high in bounds) / len(found) if ungraded else None,
        warnings=tuple(dict.fromkeys(text for one in found for text in one.warnings)),
    )


def _bounds(one: Estimate) -> tuple[float, float]:
    value = one.value or 0.0
    low, high = one.bound_low, one.bound_high
    return value if low is None else low, value if high is None else high


def _combined(found: Sequence[Estimate], mean: float, end: str) -> float | None:
    ends = [(getattr(one, end), one.value) for one in found]
    if any(at is None or value is None for at, value in ends):
        return None
    arm = math.sqrt(sum((at - value) ** 2 for at, value in ends)) / len(found)
    return mean - arm if end == "low" else mean + arm


def _within(arm: Arm, keep_P: Bools) -> PerPrompt:
    """Return pass@1 on the prompts of one class; prompts without a graded rollout are not in it."""
    item = replace(pass_curve(arm, [1]), aside_low_QK=None, aside_high_QK=None).kept(keep_P)
    return replace(
        item,
        n_graded=int(arm.counts.n_P[keep_P].sum()),
        n_ungraded=int(arm.counts.u_P[keep_P].sum()),
    )


def _turned(one: Estimate, whole: float) -> Estimate:
    """Return ``whole`` minus an estimate."""

    def turn(value: float | None) -> float | None:
        return None if value is None else whole - value

    return replace(
        one,
        value=turn(one.value), low=turn(one.high), high=turn(one.low),
        bound_low=turn(one.bound_high), bound_high=turn(one.bound_low),
    )  # fmt: skip


def _share(count: int, n: int, balanced: bool, classes: int) -> Estimate:
    value = 1 / classes if balanced else count / n
    return Estimate(value=value, n_prompts=n, method="count")
