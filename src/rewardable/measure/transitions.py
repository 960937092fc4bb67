"""Table of transitions: what happened to each prompt, what was certified, what could have been."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rewardable.measure.arms import Counts, Pair
from rewardable.measure.rows import row
from rewardable.measure.stopped import pair_states
from rewardable.measure.study import Study
from rewardable.metrics import Transitions, transitions
from rewardable.results import Estimate, Row, Table

CALLS = ("lost", "reduced", "gained", "raised", "kept", "absent", "undecided")

NOTE = (
    "Lost: successes before, none after, certified at this false-discovery rate; reduced, gained "
    "and raised likewise. Kept: successes in both, no certified change. Absent: none in both. "
    "Undecided: the rest. No call is a proof that nothing happened; the power says what could have "
    "been seen."
)


def transitions_table(study: Study) -> Table:
    """Rows of kind prompt, summary (one a call) and power, for every pair under one spec."""
    rows: list[Row] = []
    for task in study.tasks:
        for pair in task.pairs:
            found = _transitions(pair, study.config.level)
            rows += _prompt_rows(pair, found)
            rows += _summary_rows(pair, found)
            rows += _power_rows(pair, found)
    return Table(
        name="transitions",
        title="What happened to each prompt",
        rows=tuple(rows),
        notes=(NOTE,),
        provenance=study.provenance,
    )


def _transitions(pair: Pair, level: float) -> Transitions:
    before, after = _counts(pair)
    rules = [None if arm.stopped is None else arm.stopped.rule for arm in (pair.before, pair.after)]
    return transitions(
        before.n_P, before.c_P, after.n_P, after.c_P, level=level, rule_before=rules[0],
        rule_after=rules[1],
    )  # fmt: skip


def _counts(pair: Pair) -> tuple[Counts, Counts]:
    """Return the counts of both sides; under a stopping rule where both ended as a pair."""
    before, after = pair.before.stopped, pair.after.stopped
    if before is None or after is None:
        return pair.before.counts, pair.after.counts
    return pair_states(before, after)


def _prompt_rows(pair: Pair, found: Transitions) -> list[Row]:
    before, after = _counts(pair)
    columns = {
        "n_before": before.n_P.tolist(),
        "c_before": before.c_P.tolist(),
        "n_after": after.n_P.tolist(),
        "c_after": after.c_P.tolist(),
        "p_before": (before.c_P / before.n_P).tolist(),
        "p_after": (after.c_P / after.n_P).tolist(),
        "q": found.q_P.tolist(),
        "call": found.calls,
        "prompt": pair.before.samples.prompt_keys,
    }
    lines = zip(*columns.values(), found.low_P, found.high_P, before.u_P + after.u_P, strict=True)
    rows: list[Row] = []
    for *values, low, high, ungraded in lines:
        labels = dict(zip(columns, values, strict=True))
        estimate = Estimate(
            value=labels["p_after"] - labels["p_before"],
            low=float(low),
            high=float(high),
            level=found.level,
            method="exact intervals of both rates, combined; for this prompt alone",
            n_prompts=1,
            n_graded=labels["n_before"] + labels["n_after"],
            n_ungraded=int(ungraded),
        )
        rows.append(row(pair.labels, estimate, kind="prompt", **labels))
    return rows


def _summary_rows(pair: Pair, found: Transitions) -> list[Row]:
    common = _common(pair, found)
    return [
        row(pair.labels, Estimate(value=float(found.count(call)), **common), kind="summary",
            call=call)
        for call in CALLS
    ]  # fmt: skip


def _common(pair: Pair, found: Transitions) -> dict[str, Any]:
    return {
        "level": found.level,
        "method": found.method,
        "n_prompts": pair.before.n_prompts,
        "n_graded": sum(int(counts.n_P.sum()) for counts in _counts(pair)),
        "n_ungraded": sum(int(counts.u_P.sum()) for counts in _counts(pair)),
    }


def _chance(power: float) -> str:
    """Write a probability; one that is not certain is never 100 %, nor a small one 0 %."""
    if power > 0.995:
        return "over 99 %"
    if power < 0.01:
        return "under 1 %"
    return f"{100 * power:.0f} %"


def _power_rows(pair: Pair, found: Transitions) -> list[Row]:
    rule = pair.before.stopped and pair.before.stopped.rule
    n = int(rule.cap if rule else min(np.median(side.n_P) for side in _counts(pair)))
    design = f"Sampled {rule.words}," if rule else f"At n = {n}"
    text = f"{design} a fall from 0.1 to 0 is certified in {_chance(found.power)} of the cases."
    common = _common(pair, found)
    rows = [
        row(pair.labels, Estimate(value=found.power, **common), kind="power",
            what="chance to certify a fall from 0.1 to 0", n=n, text=text)
    ]  # fmt: skip
    if math.isfinite(found.smallest_loss):
        least = f"{found.smallest_loss:.2g}"
        text = f"A fall to 0 from {least} or more is certified in at least 80 % of the cases."
        rows.append(
            row(pair.labels, Estimate(value=found.smallest_loss, **common), kind="power",
                what="smallest rate whose loss is certified in 80 % of the cases", n=n, text=text)
        )  # fmt: skip
    return rows
