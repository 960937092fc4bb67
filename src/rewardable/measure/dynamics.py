"""Table of support dynamics: what is retained, lost and discovered within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.counts import CORRECT, Counts, Floats, Ints
from rewardable.measure.estimates import estimate_of
from rewardable.measure.rows import row
from rewardable.measure.study import Study, TaskStudy
from rewardable.metrics import SupportDynamics, pass_at_k, support_dynamics
from rewardable.results import Estimate, Row, Table

RETENTION, DISCOVERY = "retention (SRR)", "discovery (NDR)"
SCORE, NET_CHANGE = "support dynamics score (SDS)", "net support change (NSCR)"
NO_CHANGE = "retention if nothing had changed"
PRESERVED, SHRUNK, EXPANDED = "solved by both", "solved before only", "solved after only"
PROMPTS, SOLUTIONS = "prompts", "solutions"
SOLUTION = "solution"

NOTE = (
    "Within k rollouts of each policy, P units are solved by both, S before only, E after only, in "
    "expectation: SRR = P/(P+S), NDR = E/(P+E), SDS their harmonic mean, NSCR = (E-S)/(P+E+S). A "
    "unit is a prompt, or one solution of a prompt. Not seen within k is no proof of absence: two "
    "draws of one policy do not solve the same units either, so compare the retention with what it "
    "would read if nothing had changed."
)
EDGES = "what two draws of k of the first policy give: the range that the counts allow; no interval"


def dynamics_table(study: Study) -> Table:
    """SRR, NDR, SDS and NSCR of every pair under one spec, for prompts and for solutions."""
    rows = [
        row for task in study.tasks for pair in task.pairs for row in _pair_rows(study, task, pair)
    ]
    return Table(
        name="dynamics",
        title="What is retained, lost and discovered",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )


def _pair_rows(study: Study, task: TaskStudy, pair: Pair) -> list[Row]:
    k, level = task.common_k, study.config.level
    before, after = pair.before.counts, pair.after.counts
    counts = (before.n_P, before.c_P, after.n_P, after.c_P)
    found = support_dynamics(*counts, k=k, level=level, clusters=pair.before.cluster_P)
    rows = _rows(pair, found, units=PROMPTS, ends=extremes(pair, k))
    units = _solution_units(pair)
    if units is not None:
        solved = support_dynamics(*units[:4], k=k, level=level, clusters=units[4])
        rows += _rows(pair, solved, units=SOLUTIONS, ends={})
    return rows


def _rows(pair: Pair, found: SupportDynamics, *, units: str, ends: Ends) -> list[Row]:
    arms, common = (pair.before, pair.after), {"k": found.k, "units": units}
    rates = {
        RETENTION: found.retention,
        DISCOVERY: found.discovery,
        SCORE: found.score,
        NET_CHANGE: found.net_change,
    }
    rows = [
        row(pair.labels, _bounded(estimate_of(rate, arms), ends.get(metric)), metric=metric,
            **common)
        for metric, rate in rates.items()
    ]  # fmt: skip
    low, high = found.unchanged_retention
    unchanged = Estimate(
        value=None if np.isnan(low) else low,
        low=None if np.isnan(low) else low,
        high=None if np.isnan(high) else high,
        method=EDGES,
        n_prompts=pair.before.n_prompts,
        n_graded=pair.before.n_graded,
        n_ungraded=pair.before.n_ungraded,
    )
    rows.append(row(pair.labels, unchanged, metric=NO_CHANGE, **common))
    if units == PROMPTS:
        rows += _shares(pair, found, common)
    return rows


def _shares(pair: Pair, found: SupportDynamics, common: dict[str, Any]) -> list[Row]:
    arms = (pair.before, pair.after)
    shares = {PRESERVED: found.preserved, SHRUNK: found.shrunk, EXPANDED: found.expanded}
    size = pair.before.n_prompts
    return [
        row(
            pair.labels,
            Estimate(
                value=share * size,
                method="expected number within k; its interval is that of the rates",
                n_prompts=size,
                n_graded=sum(arm.n_graded for arm in arms),
                n_ungraded=sum(arm.n_ungraded for arm in arms),
            ),
            metric=metric,
            **common,
        )
        for metric, share in shares.items()
    ]


def _bounded(estimate: Estimate, ends: tuple[float, float] | None) -> Estimate:
    if ends is None or estimate.value is None:
        return estimate
    plain = tuple(text for text in estimate.warnings if "ungraded" not in text)
    return replace(estimate, bound_low=ends[0], bound_high=ends[1], warnings=plain)


def _solution_units(pair: Pair) -> tuple[Ints, Ints, Ints, Ints, Ints] | None:
    """Count every solution that either policy found, and the cluster of its prompt."""
    arms = (pair.before, pair.after)
    names = [arm.samples.label_names.get(SOLUTION, ()) for arm in arms]
    place = {name: i for i, name in enumerate(dict.fromkeys((*names[0], *names[1])))}
    found = [
        _found(arm, [place[name] for name in own]) for arm, own in zip(arms, names, strict=True)
    ]
    keys = np.union1d(found[0][0], found[1][0])
    if not keys.size:
        return None
    seen = np.zeros((2, keys.size), dtype=np.int64)
    for side, (own, times) in enumerate(found):
        seen[side, np.searchsorted(keys, own)] = times
    prompt_L, source_P = keys >> _BITS, pair.before.cluster_P
    cluster_L = prompt_L if source_P is None else source_P[prompt_L]
    n_before, n_after = pair.before.counts.n_P[prompt_L], pair.after.counts.n_P[prompt_L]
    return n_before, seen[0], n_after, seen[1], cluster_L


_BITS = 32


def _found(arm: Arm, joint: Sequence[int]) -> tuple[Ints, Ints]:
    """Return (prompt, joint number of the solution) in one key, and how often each was found."""
    none_R = np.full(len(arm.samples.prompt_R), -1, dtype=np.int32)
    code_R = arm.samples.labels.get(SOLUTION, none_R)
    keep_R = (arm.outcome_R == CORRECT) & (code_R >= 0)
    if not keep_R.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    number_R = np.asarray(joint, dtype=np.int64)[code_R[keep_R]]
    key_R = (arm.samples.prompt_R[keep_R].astype(np.int64) << _BITS) | number_R
    keys, times = np.unique(key_R, return_counts=True)
    return keys, times.astype(np.int64)


Ends = dict[str, tuple[float, float]]
Two = Callable[[Floats, Floats], Floats]
_RATES: tuple[tuple[str, Two, Two], ...] = (
    (RETENTION, lambda b, a: b * a, lambda b, _: b),
    (DISCOVERY, lambda b, a: (1 - b) * a, lambda _, a: a),
    (NET_CHANGE, lambda b, a: a - b, lambda b, a: a + b - a * b),
)


def extremes(pair: Pair, k: int) -> Ends:
    """Return what the ungraded rollouts could make of each rate; nothing where there are none."""
    if not (pair.before.n_ungraded or pair.after.n_ungraded):
        return {}
    sides = [_both(pair.before.counts, k), _both(pair.after.counts, k)]
    corners = [(b, a) for b in sides[0] for a in sides[1]]
    found: Ends = {}
    for metric, over, under in _RATES:
        parts = [(over(b, a), under(b, a)) for b, a in corners]
        found[metric] = (_extreme(parts, -1.0), _extreme(parts, 1.0))
    pairs = zip(found[RETENTION], found[DISCOVERY], strict=True)
    low, high = (2 * a * b / (a + b) if a + b > 0 else 0.0 for a, b in pairs)
    return {metric: ends for metric, ends in {**found, SCORE: (low, high)}.items()
            if np.isfinite(ends).all()}  # fmt: skip


def _both(counts: Counts, k: int) -> tuple[Floats, Floats]:
    wrong, right = counts.all_wrong, counts.all_right
    return pass_at_k(wrong.n_P, wrong.c_P, k), pass_at_k(right.n_P, right.c_P, k)


def _extreme(parts: Sequence[tuple[Floats, Floats]], sign: float) -> float:
    """Return the largest (sign 1) or smallest sum(over) / sum(under), a corner for every prompt.

    Dinkelbach's method: numerator and denominator are linear in each side's value, so the extremes
    lie in corners, chosen prompt by prompt for a trial ratio until the ratio stays.
    """
    over_CP = np.stack([over for over, _ in parts])
    under_CP = np.stack([under for _, under in parts])
    column, ratio = np.arange(over_CP.shape[1]), np.nan
    best = under_CP.argmax(axis=0)
    for _ in range(30):
        below = under_CP[best, column].sum()
        if below <= 0:
            break
        found = float(over_CP[best, column].sum() / below)
        if found == ratio:
            break
        ratio = found
        best = (sign * (over_CP - ratio * under_CP)).argmax(axis=0)
    return ratio
