"""Table of gates: which thresholds the whole interval of a change lies beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rewardable.errors import ConfigError, unknown_name
from rewardable.measure.arms import Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.counts import Bools
from rewardable.measure.coverage import coverage_kinds
from rewardable.measure.curves import solution_kind
from rewardable.measure.estimates import PerPrompt, difference_of, estimate_of, mean_of
from rewardable.measure.gate_text import (
    ABOVE,
    BELOW,
    EVERY,
    FALLS,
    RISES,
    Gate,
    parse_gate,
)
from rewardable.measure.quantities import (
    best_curve,
    coverage_curve,
    distinct_outputs,
    group_variation,
    is_graded,
    pass_curve,
    solutions_curve,
)
from rewardable.measure.reliability import all_right_curve, answer_kind, majority_curve
from rewardable.measure.rows import row
from rewardable.measure.study import Study, TaskStudy
from rewardable.measure.words import plural
from rewardable.metrics import ratio_interval
from rewardable.results import Estimate, Row, Table

FAILED, HELD, NOT_SHOWN, UNKNOWN = "failed", "held", "not shown", "cannot be judged"

NOTE = (
    "A gate fails when the whole interval lies beyond its threshold, and only then. It is judged "
    "on the main task for the last trained policy unless it names others; where it is judged "
    "several times, the intervals share the error (Bonferroni), and one failure fails it. Held: "
    "the whole interval lies on the allowed side. Not shown: the interval covers the threshold."
)


def gates_table(study: Study, gates: tuple[Gate, ...]) -> Table:
    """Return one row for each time a gate is judged; labels ``outcome`` and ``text`` say how."""
    rows = [row for gate in gates for row in _judged(study, gate)]
    return Table(
        name="gates",
        title="Gates",
        rows=tuple(rows),
        notes=(NOTE,) if rows else (),
        provenance=study.provenance,
    )


def parse_gates(config: MeasureConfig) -> tuple[Gate, ...]:
    """Parse all gates of a configuration; ConfigError for one that cannot be meant."""
    return tuple(parse_gate(text) for text in config.fail_on)


@dataclass(frozen=True)
class _Case:
    """One judgement: a gate on one task for one policy, at its share of the error."""

    gate: Gate
    task: TaskStudy
    subject: Pair | Arm
    config: MeasureConfig


def _judged(study: Study, gate: Gate) -> list[Row]:
    cases = [(task, subject) for task in _tasks(study, gate) for subject in _subjects(task, gate)]
    level = 1 - (1 - study.config.level) / len(cases)
    config = replace(study.config, level=level)
    return [_row(_Case(gate, task, subject, config)) for task, subject in cases]


def _tasks(study: Study, gate: Gate) -> list[TaskStudy]:
    if gate.task == EVERY:
        return list(study.tasks)
    known = {task.task: task for task in study.tasks}
    short = {name.partition(":")[0]: task for name, task in known.items()}
    if not gate.task:
        return [study.tasks[0]]
    if gate.task not in known and gate.task not in short:
        raise unknown_name(f"task in gate {gate.text!r}:", gate.task, known)
    return [known.get(gate.task) or short[gate.task]]


def _subjects(task: TaskStudy, gate: Gate) -> list[Pair] | list[Arm]:
    """Return pairs for a change, arms of trained policies (else the base) for a level."""
    pairs = list(task.headline_pairs)
    if gate.verb in (BELOW, ABOVE) and not pairs:
        return list(task.arms[:1])
    if not pairs:
        raise ConfigError(f"gate {gate.text!r}: the run holds one policy, so nothing can change.")
    names = [pair.after.policy for pair in pairs]
    if gate.policy and gate.policy != EVERY and gate.policy not in names:
        raise unknown_name(f"policy in gate {gate.text!r}:", gate.policy, names)
    chosen = {"": pairs[-1:], EVERY: pairs}.get(gate.policy) or [
        pair for pair in pairs if pair.after.policy == gate.policy
    ]
    return [pair.after for pair in chosen] if gate.verb in (BELOW, ABOVE) else chosen


def _row(case: _Case) -> Row:
    gate, subject = case.gate, case.subject
    estimate = _estimate(case)
    outcome = _outcome(gate, estimate)
    return row(
        subject.labels,
        estimate,
        gate=gate.text,
        metric=gate.name,
        relative=gate.relative,
        threshold=gate.amount,
        outcome=outcome,
        text=_text(case, estimate, outcome),
    )


def _outcome(gate: Gate, estimate: Estimate) -> str:
    low, high = estimate.low, estimate.high
    if estimate.value is None or low is None or high is None:
        return UNKNOWN
    limit = -gate.amount if gate.verb == FALLS else gate.amount
    if gate.verb in (FALLS, BELOW):
        return FAILED if high < limit else HELD if low >= limit else NOT_SHOWN
    return FAILED if low > limit else HELD if high <= limit else NOT_SHOWN


def _estimate(case: _Case) -> Estimate:
    gate, subject = case.gate, case.subject
    if isinstance(subject, Arm):
        return mean_of(_item(case, subject), case.config)
    before, after = _item(case, subject.before), _item(case, subject.after)
    if not gate.relative:
        return difference_of(before, after, case.config)
    return _relative(case, subject, before, after)


def _relative(case: _Case, pair: Pair, before: PerPrompt, after: PerPrompt) -> Estimate:
    """Return after / before - 1 of the means over the prompts that have both."""
    a, b = after.values_PK[:, 0], before.values_PK[:, 0]
    keep_P: Bools = np.isfinite(a) & np.isfinite(b)
    most = float(case.gate.k) if case.gate.metric in ("solutions", "distinct") else 1.0
    cluster_P = before.cluster_P
    found = ratio_interval(
        a[keep_P] / most,
        b[keep_P] / most,
        level=case.config.level,
        clusters=None if cluster_P is None else cluster_P[keep_P],
    )
    moved = replace(found, mean=found.mean - 1, low=found.low - 1, high=found.high - 1)
    absolute = difference_of(before, after, case.config)
    estimate = estimate_of(moved, (pair.before, pair.after))
    low, high = _ends(before.kept(keep_P), after.kept(keep_P))
    plain = tuple(text for text in found.warnings if text)
    return replace(
        estimate, n_prompts=int(keep_P.sum()), bound_low=low, bound_high=high,
        warnings=(*absolute.warnings, *(text for text in plain if text not in absolute.warnings)),
    )  # fmt: skip


def _ends(before: PerPrompt, after: PerPrompt) -> tuple[float | None, float | None]:
    """Return the relative change at both extremes of what the ungraded rollouts could be."""
    if not (before.n_ungraded or after.n_ungraded):
        return None, None
    sides = [
        [float((item.values_PK if end is None else end)[:, 0].mean())
         for end in (item.low_PK, item.high_PK)]
        for item in (before, after)
    ]  # fmt: skip
    if not sides[0][0] > 0:
        return None, None
    return sides[1][0] / sides[0][1] - 1, sides[1][1] / sides[0][0] - 1


def _item(case: _Case, arm: Arm) -> PerPrompt:
    gate, task = case.gate, case.task
    k = gate.k or case.config.group
    held = arm.rollouts_P if gate.metric == "distinct" else arm.counts.n_P
    least = int(held.min())
    if arm.stopped is not None and gate.metric in ("pass", "support"):
        least = arm.stopped.rule.widest
    if k > least:
        raise ConfigError(
            f"gate {gate.text!r}: {gate.name} needs {k} graded rollouts of every prompt; on "
            f"{arm.task} {arm.policy} has a prompt with {least}."
        )
    return _CURVES[gate.metric](task, arm, k, case.config)


Curve = Callable[[TaskStudy, Arm, int, MeasureConfig], PerPrompt]


def _coverage(kind: str) -> Curve:
    def curve(task: TaskStudy, arm: Arm, k: int, _: MeasureConfig) -> PerPrompt:
        if kind not in coverage_kinds(task):
            raise _missing(task, f"coverage of {kind}", f"the number of labels {kind!r} is unknown")
        return coverage_curve(arm, [k], kind)

    return curve


def _solutions(task: TaskStudy, arm: Arm, k: int, _: MeasureConfig) -> PerPrompt:
    kind = solution_kind(task)
    if not kind:
        raise _missing(task, "distinct solutions", "only counts were imported")
    return solutions_curve(arm, [k], kind)


def _best(task: TaskStudy, arm: Arm, k: int, _: MeasureConfig) -> PerPrompt:
    if not any(is_graded(one) for one in task.arms):
        raise _missing(task, "best@k", "the scores say no more than the verdicts; use pass@k")
    return best_curve(arm, [k])


def _majority(task: TaskStudy, arm: Arm, k: int, config: MeasureConfig) -> PerPrompt:
    kind = answer_kind(task)
    if not kind:
        raise _missing(task, "maj@k", "the rollouts carry no label of their answer")
    return majority_curve(arm, [k], kind, config)


def _distinct(task: TaskStudy, arm: Arm, k: int, _: MeasureConfig) -> PerPrompt:
    if arm.counts_only:
        raise _missing(task, "distinct outputs", "only counts were imported")
    return distinct_outputs(arm, k)


def _missing(task: TaskStudy, what: str, why: str) -> ConfigError:
    return ConfigError(f"no {what} on {task.task} to gate on: {why}.")


_CURVES: dict[str, Curve] = {
    "pass": lambda _, arm, k, __: pass_curve(arm, [k]),
    "pass^": lambda _, arm, k, __: all_right_curve(arm, [k]),
    "support": lambda _, arm, k, __: pass_curve(arm, [k], total=True),
    "solutions": _solutions,
    "coverage": _coverage("solution"),
    "entries": _coverage("entry"),
    "best": _best,
    "maj": _majority,
    "distinct": _distinct,
    "trainability": lambda _, arm, k, __: group_variation(arm, k),
}


def _text(case: _Case, estimate: Estimate, outcome: str) -> str:
    """Write the gate, how it came out, on what, and the figures."""
    subject, gate = case.subject, case.gate
    who = (
        f"{subject.policy}" if isinstance(subject, Arm)
        else f"{subject.after.policy} against {subject.before.policy}"
    )  # fmt: skip
    word = outcome.upper() if outcome == FAILED else outcome
    figures = f"{100 * case.config.level:.4g} % interval, {plural(estimate.n_prompts, 'prompt')}"
    figures += f", {plural(estimate.n_graded, 'graded rollout')}"
    figures += f", {estimate.n_ungraded} ungraded" if estimate.n_ungraded else ""
    if estimate.bound_low is not None and estimate.bound_high is not None:
        factor, unit = (100, " %") if gate.relative else (1, "")
        ends = (f"{end * factor:.4g}" for end in (estimate.bound_low, estimate.bound_high))
        figures += f": {' to '.join(ends)}{unit} whatever they are"
    moved = _figures(gate, estimate)
    return f"{gate.text}: {word}; {case.task.task}, {who}: {gate.name} {moved} ({figures})"


def _figures(gate: Gate, estimate: Estimate) -> str:
    if estimate.value is None:
        return f"has no value ({estimate.warnings[-1] if estimate.warnings else 'undefined'})"
    signed = "+" if gate.verb in (FALLS, RISES) else ""
    factor, unit = (100, " %") if gate.relative else (1, "")

    def number(value: float) -> str:
        return f"{value * factor:{signed}.4g}"

    if estimate.low is None or estimate.high is None:
        return f"{number(estimate.value)}{unit}, no interval"
    ends = f"[{number(estimate.low)}, {number(estimate.high)}]"
    verb = "changed by " if signed else "is "
    return f"{verb}{number(estimate.value)}{unit} {ends}"
