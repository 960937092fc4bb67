"""Table of joint verdicts: right and compliant, right only, compliant only, neither.

Made for tasks whose verdicts keep two marginals as parts, under the names in ``SIDES``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from rewardable.measure.arms import Arm, Bools, Floats, Ints, Pair
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.rows import arm_row, pair_row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Estimate, Row, Table

SIDES = (("answer", "constraint"), ("right", "compliant"), ("first", "second"))
"""Names of the two parts of a joint verdict; a part holds at 1."""

SHARE = "share"
BOTH, NEITHER, ONLY = "both", "neither", "{} only"

NOTE = (
    "Shares of rollouts, averaged over prompts. A gain in one side became a gain in both only as "
    "far as `both` rose; the rest is in that side's `only`. Rollouts whose cell an ungraded part "
    "leaves open are left out there; the bounds count them in and out. Intervals hold one by one."
)

Cell = Callable[[Bools, Bools], Bools]


def joint_table(study: Study) -> Table:
    """Marginals and the four cells of every arm, and their paired changes."""
    rows: list[Row] = []
    notes: list[str] = []
    for task in study.tasks:
        sides = sides_of(task)
        if sides is None:
            continue
        cells = _cells(*sides)
        items = {id(arm): {name: _share(arm, sides, cell) for name, cell in cells.items()}
                 for arm in task.arms}  # fmt: skip
        for name in cells:
            rows += [
                arm_row(arm, items[id(arm)][name], study.config, metric=SHARE, cell=name)
                for arm in task.arms
            ]
            for pair in task.pairs:
                both = [items[id(arm)][name] for arm in (pair.before, pair.after)]
                rows.append(pair_row(pair, both, study.config, metric=SHARE, cell=name))
        notes += [_sentence(pair, rows, sides) for pair in task.pairs]
    return Table(
        name="joint",
        title="Right and compliant",
        rows=tuple(rows),
        notes=(NOTE, *notes) if rows else (),
        provenance=study.provenance,
    )


def sides_of(task: TaskStudy) -> tuple[str, str] | None:
    """Return the names of the two sides whose parts every arm has, None where there are none."""
    for sides in SIDES:
        if all(set(sides) <= set(arm.samples.parts) for arm in task.arms):
            return sides
    return None


def _cells(first: str, second: str) -> dict[str, Cell]:
    return {
        first: lambda a, _: a,
        second: lambda _, b: b,
        BOTH: lambda a, b: a & b,
        ONLY.format(first): lambda a, b: a & ~b,
        ONLY.format(second): lambda a, b: ~a & b,
        NEITHER: lambda a, b: ~a & ~b,
    }


def _share(arm: Arm, sides: tuple[str, str], cell: Cell) -> PerPrompt:
    """Return the share of an arm's rollouts in a cell, with bounds where an open part decides."""
    certain_R, possible_R = _inside([arm.samples.parts[side] for side in sides], cell)
    decided_R = certain_R | ~possible_R
    low = high = None
    if not decided_R.all():
        all_P = _by_prompt(arm, np.ones(decided_R.size, dtype=bool))
        low, high = (_ratio(_by_prompt(arm, chosen), all_P) for chosen in (certain_R, possible_R))
    return PerPrompt(
        values_PK=_ratio(_by_prompt(arm, certain_R), _by_prompt(arm, decided_R)),
        n_graded=int(decided_R.sum()),
        n_ungraded=int((~decided_R).sum()),
        low_PK=low,
        high_PK=high,
        cluster_P=arm.cluster_P,
        undefined="a prompt has no rollout that is graded for this cell",
    )


def _inside(parts: list[Floats], cell: Cell) -> tuple[Bools, Bools]:
    """Tell which rollouts lie in the cell whatever their open parts are, and which might."""
    held = [
        cell(*(np.where(np.isnan(part), end, part == 1.0).astype(bool)
               for part, end in zip(parts, ends, strict=True)))
        for ends in product((False, True), repeat=2)
    ]  # fmt: skip
    return np.logical_and.reduce(held), np.logical_or.reduce(held)


def _by_prompt(arm: Arm, chosen_R: Bools) -> Ints:
    return np.bincount(arm.samples.prompt_R[chosen_R], minlength=arm.n_prompts).astype(np.int64)


def _ratio(count_P: Ints, n_P: Ints) -> Floats:
    return np.where(n_P > 0, count_P / np.maximum(n_P, 1), np.nan)[:, None]


def _sentence(pair: Pair, rows: list[Row], sides: tuple[str, str]) -> str:
    wanted = (sides[0], sides[1], BOTH)
    changes = {
        str(row.labels["cell"]): row.estimate
        for row in rows
        if all(row.labels.get(name) == value for name, value in pair.labels.items())
    }
    said = ", ".join(f"{name} {_points(changes[name])}" for name in wanted)
    labels = pair.labels
    return f"{labels['task']}, {labels['before']} to {labels['after']}: {said}."


def _points(change: Estimate) -> str:
    if change.value is None:
        return "unknown"
    text = f"{100 * change.value:+.1f}"
    if change.low is None or change.high is None:
        return f"{text} points"
    return f"{text} points [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
