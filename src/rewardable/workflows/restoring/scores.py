"""From stored verdicts to values by prompt, in the order of the prompts that were asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewardable.metrics import (
    Interval,
    LabelCounts,
    count_labels,
    coverage,
    mean_interval,
    non_inferiority,
    paired_interval,
    pass_at_k,
    trainability,
)
from rewardable.protocols import Task
from rewardable.records import SamplingSpec
from rewardable.store import Run, Samples
from rewardable.workflows.restoring.config import COVERAGE, SUPPORT, Objective
from rewardable.workflows.restoring.halving import Standing

PASS, TRAINABILITY = "pass@1", "trainability"
CORRECT = 1
Values = tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """Values by prompt of one policy; NaN where its graded rollouts are too few.

    values: metric -> one a prompt: pass@1, support@k, and coverage@k where solutions are counted.
    """

    values: Mapping[str, Values]
    n_graded: int
    n_ungraded: int

    @property
    def n_prompts(self) -> int:
        """Number of prompts that were asked for."""
        return len(self.values[PASS])

    def first(self, count: int) -> Scores:
        """Return the values of the first prompts; the numbers of rollouts stay."""
        values = {name: row[:count] for name, row in self.values.items()}
        return Scores(values=values, n_graded=self.n_graded, n_ungraded=self.n_ungraded)


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Whose rollouts of which task are read. twins: key of a changed prompt -> the original's."""

    policy_key: str
    spec: SamplingSpec
    task: Task
    twins: Mapping[str, str] | None = None


def read_scores(run: Run, where: Where, keys: Sequence[str], k: int) -> Scores:
    """Read the scores of the prompts ``keys``; prompts without rollouts get NaN."""
    samples = _samples(run, where)
    place = {key: i for i, key in enumerate(keys)}
    twins = where.twins or {}
    spots = [place.get(twins.get(key, key), -1) for key in samples.prompt_keys]
    at_R = [spots[prompt] for prompt in samples.prompt_R.tolist()]
    outcome_R = samples.outcome_R.tolist()
    graded = Counter(p for p, o in zip(at_R, outcome_R, strict=True) if p >= 0 and o >= 0)
    right = Counter(p for p, o in zip(at_R, outcome_R, strict=True) if p >= 0 and o == CORRECT)
    ungraded = sum(p >= 0 and o < 0 for p, o in zip(at_R, outcome_R, strict=True))
    n_P = [graded[i] for i in range(len(keys))]
    c_P = [right[i] for i in range(len(keys))]
    values = {
        PASS: _row(pass_at_k(n_P, c_P, 1).tolist()),
        f"{SUPPORT}@{k}": _row(pass_at_k(n_P, c_P, k).tolist()),
    }
    kind = label_kind(samples)
    if kind:
        labels = _labels(samples, kind, at_R, len(keys))
        totals = _totals(samples, kind, spots, len(keys))
        values[f"{COVERAGE}@{k}"] = _row(coverage(labels, totals, n_P, k).tolist())
    return Scores(values=values, n_graded=sum(n_P), n_ungraded=ungraded)


def read_trainability(run: Run, where: Where, keys: Sequence[str], group: int) -> Values:
    """Read the expected share of groups with reward variation, by prompt."""
    samples = _samples(run, where)
    place = {key: i for i, key in enumerate(keys)}
    n, c = [0] * len(keys), [0] * len(keys)
    rows = zip(samples.prompt_R.tolist(), samples.outcome_R.tolist(), strict=True)
    for prompt, outcome in rows:
        spot = place.get(samples.prompt_keys[prompt], -1)
        if spot >= 0 and outcome >= 0:
            n[spot] += 1
            c[spot] += outcome
    return _row(trainability(n, c, group).tolist())


def standing_of(
    name: str, before: Scores, after: Scores, objective: Objective, margin: float
) -> Standing | None:
    """Compare a candidate with the trained checkpoint on prompts that both have values of."""
    rows = shared(before, after, (PASS, objective.text))
    if not rows[0]:
        return None
    pass_before, gain_before, pass_after, gain_after = rows
    return Standing(
        name=name,
        n_prompts=len(pass_before),
        gain=paired_interval(gain_before, gain_after, bounds=(0.0, 1.0)),
        kept=non_inferiority(pass_before, pass_after, margin, bounds=(0.0, 1.0)),
    )


def shared(before: Scores, after: Scores, names: Sequence[str]) -> list[list[float]]:
    """Return the rows ``names`` of both, on the prompts where all of them have values."""
    columns = [one.values.get(name, ()) for one in (before, after) for name in names]
    if not all(columns):
        return [[] for _ in columns]
    kept = [row for row in zip(*columns, strict=True) if not any(map(math.isnan, row))]
    return [list(column) for column in zip(*kept, strict=True)] or [[] for _ in columns]


def level_of(values: Sequence[float]) -> Interval | None:
    """Return the mean over the prompts that have a value, None where none has."""
    known = [value for value in values if not math.isnan(value)]
    return mean_interval(known, bounds=(0.0, 1.0)) if known else None


def label_kind(samples: Samples) -> str:
    """Return the kind of label whose coverage is measured: solutions, else the first counted."""
    kinds = [kind for kind in samples.totals if kind in samples.labels]
    return "solution" if "solution" in kinds else kinds[0] if kinds else ""


def _samples(run: Run, where: Where) -> Samples:
    verifier = where.task.verifier
    return run.samples(
        policy_key=where.policy_key,
        spec_key=where.spec.key,
        task=where.task.name,
        verifier=verifier.name,
        version=verifier.version,
    )


def _labels(samples: Samples, kind: str, at_R: Sequence[int], size: int) -> LabelCounts:
    rows = zip(at_R, samples.outcome_R.tolist(), samples.labels[kind].tolist(), strict=True)
    kept = [(spot, code) for spot, outcome, code in rows
            if spot >= 0 and outcome == CORRECT and code >= 0]  # fmt: skip
    spots, codes = [spot for spot, _ in kept], [code for _, code in kept]
    if not kept:
        none = samples.text_R[:0]
        return LabelCounts(prompt_L=none, count_L=none)
    return count_labels(spots, codes, size)


def _totals(samples: Samples, kind: str, spots: Sequence[int], size: int) -> list[float]:
    totals = [math.nan] * size
    for spot, total in zip(spots, samples.totals[kind].tolist(), strict=True):
        if spot >= 0:
            totals[spot] = total
    return totals


def _row(values: Sequence[float]) -> Values:
    return tuple(float(value) for value in values)
