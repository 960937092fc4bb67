"""Table of shape: how varied and how long the outputs are, whatever their verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rewardable.measure.arms import Arm, Floats, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.diversity import (
    DISTINCT,
    ENTROPY,
    FORM,
    OPENING,
    ORDERS,
    QUICK,
    REPETITION,
    SKIPPED,
    VOCABULARY,
    ArmWording,
    Items,
    common_budgets,
    distinct_texts,
    entropy_of_answers,
    reuse_change,
    reuse_of,
    stored_wording,
    wording_items,
)
from rewardable.measure.estimates import PerPrompt, difference_of, mean_of
from rewardable.measure.lengths import (
    FORMAT,
    LENGTH,
    TRUNCATED,
    format_compliance,
    length_items,
    length_names,
    truncation_R,
)
from rewardable.measure.quantities import rollout_mean
from rewardable.measure.rows import NONE, certified, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.records import Prompt
from rewardable.results import Estimate, Label, Row, Table
from rewardable.store import WordingBook

FIRST_ENTROPY, MEAN_ENTROPY = "first-token entropy", "mean entropy"
TEXTS, WORDING, LENGTHS = "Diversity, entropy and length", "Wording", "Lengths"

UNITS: Mapping[str, str] = {
    DISTINCT: "texts",
    ENTROPY: "nats",
    FIRST_ENTROPY: "nats",
    MEAN_ENTROPY: "nats a token",
    LENGTH: "tokens",
    TRUNCATED: "share",
    FORMAT: "share",
}
"""Metrics of every arm, in order."""
WORDS: Mapping[str, str] = {
    **{f"distinct-{order}": "share" for order in ORDERS},
    **{f"adjusted distinct-{order}": "ratio" for order in ORDERS},
    REPETITION: "share",
    FORM: "probability",
    OPENING: "probability",
    SKIPPED: "share",
}
SPREAD: Mapping[str, str] = dict.fromkeys(length_names(), "tokens")
_IN_TOKENS = {LENGTH, *SPREAD}
_GROUPS = ((TEXTS, UNITS), (WORDING, WORDS), (LENGTHS, SPREAD))

NOTE = (
    "Every rollout counts here, graded or not. Entropies are of the full next-token distribution "
    "at temperature 1. A number of distinct outputs says something only beside the base's: on a "
    "task with few possible answers the start itself is low."
)
WORDING_NOTE = (
    "Wording is of words and signs as they stand in the text, counted at grading. distinct-n is "
    "at equal numbers of outputs of every prompt; the adjusted one takes out length, with V = "
    f"{VOCABULARY:,}. Repetition is of 4-grams within one output. Template reuse is the chance "
    "that outputs to two different prompts are the same but for their numbers. A right answer "
    "skips steps when it writes out fewer right calculations than its numbers need."
)
LENGTHS_NOTE = (
    "A quantile of lengths is each prompt's own, averaged over prompts; right and wrong answers "
    "are of graded rollouts, and prompts without any are left out."
)


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What is known of the arms of a task, by the arm's id. limits: of tokens, by spec key."""

    items: dict[int, Items] = field(default_factory=dict)
    wordings: dict[int, ArmWording] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)

    def limit(self, *arms: Arm) -> float:
        """Return the token limit of all these arms where it bounds every length, else 0."""
        limit = max(self.limits.get(arm.spec_key, 0) for arm in arms)
        known = all(arm.spec_key in self.limits for arm in arms)
        longest = max(int(arm.samples.length_R.max(initial=0)) for arm in arms)
        return float(limit) if known and longest <= limit else 0.0


def shape_table(study: Study) -> Table:
    """Diversity, entropies, wording, length, format and truncation of every arm and pair."""
    rows: list[Row] = []
    notes = [NOTE, WORDING_NOTE, LENGTHS_NOTE]
    for task in study.tasks:
        shape = _shape(study, task)
        for arm in task.arms:
            rows += _arm_rows(arm, shape, study.config)
        for pair in task.pairs:
            rows += _pair_rows(pair, shape, study.config)
        notes += _unknown(task, shape)
    return Table(
        name="shape",
        title="Diversity, entropy and length",
        rows=tuple(rows),
        notes=tuple(notes),
        provenance=study.provenance,
    )


def _shape(study: Study, task: TaskStudy) -> _Shape:
    book = WordingBook(study.run.path)
    found = {id(arm): stored_wording(study, task, arm, book) for arm in task.arms}
    wordings = {key: one for key, one in found.items() if one is not None}
    numbers = np.concatenate([one.n_P for one in wordings.values()] or [np.zeros(0, np.int64)])
    k = int(numbers[numbers > 0].min(initial=QUICK))
    prompts: dict[str, Prompt] = {prompt.key: prompt for prompt in study.run.prompts(task.task)}
    items: dict[int, Items] = {}
    for arm in task.arms:
        items[id(arm)] = shape_items(task, arm)
        if id(arm) in wordings:
            items[id(arm)] |= wording_items(arm, wordings[id(arm)], k, prompts)
    limits = {spec.key: spec.max_new_tokens for spec in study.run.specs()}
    return _Shape(items=items, wordings=wordings, limits=limits)


def shape_items(task: TaskStudy, arm: Arm) -> Items:
    """Return (metric, k) -> item for what is known of the arm; k is 0 without a budget."""
    if arm.counts_only:
        return {}
    samples = arm.samples
    items: Items = {(DISTINCT, k): distinct_texts(arm, k) for k in common_budgets(task.arms)}
    length_R = np.where(samples.length_R < 0, np.nan, samples.length_R.astype(np.float64))
    known: Sequence[tuple[str, Floats]] = (
        (FIRST_ENTROPY, samples.first_entropy_R),
        (MEAN_ENTROPY, samples.mean_entropy_R),
        (LENGTH, length_R),
        (TRUNCATED, truncation_R(arm)),
    )
    for metric, values_R in known:
        if np.isfinite(values_R).any():
            items[metric, 0] = rollout_mean(arm, values_R, f"{metric} unknown")
    more = {ENTROPY: entropy_of_answers(arm), FORMAT: format_compliance(arm)}
    items |= {(metric, 0): item for metric, item in more.items() if item is not None}
    return items | length_items(arm, length_R)


def _labels(metric: str, k: int) -> dict[str, Label]:
    group, units = next((name, units) for name, units in _GROUPS if metric in units)
    return {"metric": metric, "k": k, "unit": units[metric], "group": group}


def _ordered(items: Items) -> list[tuple[str, int]]:
    order = [metric for _, units in _GROUPS for metric in units]
    return sorted(items, key=lambda name: (order.index(name[0]), name[1]))


def _arm_rows(arm: Arm, shape: _Shape, config: MeasureConfig) -> list[Row]:
    items = shape.items[id(arm)]
    rows: list[Row] = []
    for name in _ordered(items):
        scale = shape.limit(arm) if name[0] in _IN_TOKENS else 0.0
        found = _unscaled(mean_of(_scaled(items[name], scale), config), scale)
        rows.append(row(arm.labels, found, **_labels(*name)))
    wording = shape.wordings.get(id(arm))
    if wording is not None:
        rows += [
            row(arm.labels, reuse_of(arm, wording, codes, config), **_labels(codes, 0))
            for codes in (FORM, OPENING)
        ]
    return rows


def _pair_rows(pair: Pair, shape: _Shape, config: MeasureConfig) -> list[Row]:
    before, after = (shape.items[id(arm)] for arm in (pair.before, pair.after))
    changes: list[tuple[tuple[str, int], Estimate]] = []
    for name in (name for name in _ordered(before) if name in after):
        scale = shape.limit(pair.before, pair.after) if name[0] in _IN_TOKENS else 0.0
        old_item, new_item = (_scaled(items[name], scale) for items in (before, after))
        changes.append((name, _unscaled(difference_of(old_item, new_item, config), scale)))
    old, new = (shape.wordings.get(id(arm)) for arm in (pair.before, pair.after))
    if old is not None and new is not None:
        changes += [((codes, 0), reuse_change(pair, (old, new), codes, config))
                    for codes in (FORM, OPENING)]  # fmt: skip
    return [
        row(pair.labels, change, **_labels(*name), certified=_certified(change))
        for name, change in changes
    ]


def _scaled(item: PerPrompt, scale: float) -> PerPrompt:
    """Return lengths as shares of their limit, so that few prompts get a bound that holds."""
    return replace(item, values_PK=item.values_PK / scale) if scale else item


def _unscaled(found: Estimate, scale: float) -> Estimate:
    if not scale:
        return found
    ends = {name: getattr(found, name) for name in ("value", "low", "high")}
    return replace(found, **{k: None if v is None else v * scale for k, v in ends.items()})


def _certified(change: Estimate) -> str:
    """Certify nothing from an interval that says of itself that it may be too narrow."""
    return NONE if any("too narrow" in text for text in change.warnings) else certified(change)


def _unknown(task: TaskStudy, shape: _Shape) -> list[str]:
    known = {metric for items in shape.items.values() for metric, _ in items}
    missing = [metric for metric in UNITS if metric not in known]
    notes = [f"{task.task}: the rollouts do not tell {', '.join(missing)}."] if missing else []
    lacking = [arm for arm in task.arms if id(arm) not in shape.wordings and not arm.counts_only]
    if lacking:
        listing = ", ".join(dict.fromkeys(arm.policy for arm in lacking))
        notes.append(
            f"{task.task}: the wording of {listing} was not counted, or rollouts came in since; "
            "run rewardable grade to count it."
        )
    return notes
