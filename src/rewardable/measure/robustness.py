"""Table of paraphrases: pass rate, agreement and the worst wording, over wordings of one source.

Made for tasks whose prompts carry the facts ``paraphrase_of`` and ``paraphrase``. A source, with
all its wordings, is one unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rewardable.measure import wordings as w
from rewardable.measure.arms import Arm, Bools, Floats, Pair
from rewardable.measure.estimates import PerPrompt, difference_of, mean_of
from rewardable.measure.rows import arm_row, certified, pair_row, row
from rewardable.measure.study import Study, TaskStudy
from rewardable.results import Estimate, Row, Table

RATE, AGREE, SAME, LOST = "pass rate", "agreement", "agreement within a wording", "lost to wording"
LOWEST, CHOSEN, WORST = "lowest rate", "chosen on one half", "worst wording"
AGAINST = "against the original"

NOTE = (
    "Means over source prompts, each with all its wordings. Agreement: the chance that two answers "
    "to different wordings are both right or both wrong; `lost to wording` is that chance within "
    "one wording less that across wordings, 0 where wording plays no part. Worst wording: the mean "
    "over sources of the pass rate of their worst wording. The lowest of noisy rates is low by "
    "chance too, and the wording that is lowest on one half of the rollouts, measured on the "
    "other half, may not be the worst: on average the truth lies between the two. The value is "
    "their middle, the interval runs from the lower end of the one to the upper end of the other. "
    "Intervals hold one by one."
)
_UNKNOWN = "a wording of a source has too few graded rollouts"


@dataclass(frozen=True)
class _Source:
    """The counts of one arm, ready for the figures."""

    arm: Arm
    layout: w.Layout
    counts: w.WordingCounts

    def item(
        self, metric: Callable[[w.WordingCounts], Floats],
        bounds: tuple[Floats, Floats] | None = None, rows: Bools | None = None,
    ) -> PerPrompt:  # fmt: skip
        """Wrap a figure; without ``bounds`` it rises with every right answer."""
        low = high = None
        if self.counts.u_SWH.any():
            ends = [metric(self.counts.completed(right)) for right in (False, True)]
            low, high = (end[:, None] for end in (bounds or (ends[0], ends[1])))
        cluster_P = self.arm.cluster_P
        found = PerPrompt(
            values_PK=metric(self.counts)[:, None],
            n_graded=int(self.counts.n_SWH.sum()),
            n_ungraded=int(self.counts.u_SWH.sum()),
            low_PK=low,
            high_PK=high,
            cluster_P=None if cluster_P is None else cluster_P[self.layout.prompt_SW[:, 0]],
            undefined=_UNKNOWN,
        )
        return found if rows is None else found.kept(rows)

    def items(self) -> dict[str, PerPrompt]:
        """Return the figures of all wordings together."""
        across, within = w.agreement_bounds(self.counts), w.same_bounds(self.counts)
        lost = (within[0] - across[1], within[1] - across[0])
        return {
            RATE: self.item(w.mean_rate),
            AGREE: self.item(w.agreement, across),
            SAME: self.item(w.same_agreement, within),
            LOST: self.item(lambda c: w.same_agreement(c) - w.agreement(c), lost),
            LOWEST: self.item(w.lowest_rate),
            CHOSEN: self.item(w.chosen_rate),
        }

    def of_kind(self, kind: str, rows: Bools) -> PerPrompt:
        """Return the pass rate of the wordings of a kind, of the sources ``rows``."""
        chosen_SW = self.layout.kind_SW == self.layout.kinds.index(kind)
        return self.item(lambda counts: w.mean_rate(counts, chosen_SW), rows=rows)


def robustness_table(study: Study) -> Table:
    """Pass rate, agreement and worst wording of every arm, and their paired changes."""
    rows: list[Row] = []
    notes: list[str] = []
    for task in study.tasks:
        facts = {prompt.key: prompt.facts for prompt in study.run.prompts(task.task)}
        layout = w.lay_out(task.arms[0].samples.prompt_keys, facts)
        if not layout.prompt_SW.size:
            continue
        found = _task_rows(study, task, layout)
        rows += found
        notes += [_sizes(task, layout), *_sentences(task, found)]
    return Table(
        name="robustness",
        title="Across wordings of a prompt",
        rows=tuple(rows),
        notes=(NOTE, *notes) if rows else (),
        provenance=study.provenance,
    )


def _task_rows(study: Study, task: TaskStudy, layout: w.Layout) -> list[Row]:
    sources = {id(arm): _Source(arm, layout, w.count_wordings(arm, layout)) for arm in task.arms}
    items = {id(arm): sources[id(arm)].items() for arm in task.arms}
    rows: list[Row] = []
    for arm in task.arms:
        mine = items[id(arm)]
        rows += [arm_row(arm, item, study.config, metric=name) for name, item in mine.items()]
        low, high = (mean_of(mine[name], study.config) for name in (LOWEST, CHOSEN))
        middle = mean_of(_middle(mine), study.config)
        rows.append(row(arm.labels, _between(low, high, middle), metric=WORST))
        rows += _kind_rows(study, sources[id(arm)])
    for pair in task.pairs:
        rows += _pair_rows(study, pair, items[id(pair.before)], items[id(pair.after)])
    return rows


def _pair_rows(
    study: Study, pair: Pair, before: dict[str, PerPrompt], after: dict[str, PerPrompt]
) -> list[Row]:
    rows = [
        pair_row(pair, [before[name], after[name]], study.config, metric=name)
        for name in (RATE, AGREE, SAME, LOST)
    ]
    value = difference_of(_middle(before), _middle(after), study.config)
    low = difference_of(before[CHOSEN], after[LOWEST], study.config)
    high = difference_of(before[LOWEST], after[CHOSEN], study.config)
    worst = _between(low, high, value)
    return [*rows, row(pair.labels, worst, metric=WORST, certified=certified(worst))]


def _middle(items: dict[str, PerPrompt]) -> PerPrompt:
    low, high = items[LOWEST], items[CHOSEN]
    return replace(high, values_PK=(low.values_PK + high.values_PK) / 2)


def _between(low: Estimate, high: Estimate, value: Estimate) -> Estimate:
    """Return ``value`` with an interval from the lower end of ``low`` to the upper of ``high``."""
    method = f"from {LOWEST} to {CHOSEN}; each: {value.method}"
    known = None not in (low.low, high.high, value.value)
    return replace(
        value,
        low=low.low if known else None,
        high=high.high if known else None,
        bound_low=low.bound_low,
        bound_high=high.bound_high,
        method=method,
        warnings=tuple(dict.fromkeys((*low.warnings, *high.warnings, *value.warnings))),
    )


def _kind_rows(study: Study, source: _Source) -> list[Row]:
    """Pass rate by kind of wording, and its difference from the original wording's."""
    layout, arm = source.layout, source.arm
    has = {kind: (layout.kind_SW == i).any(1) for i, kind in enumerate(layout.kinds)}
    rows = [
        arm_row(arm, source.of_kind(kind, has[kind]), study.config, metric=RATE, wording=kind)
        for kind in layout.kinds
    ]
    for kind in layout.kinds:
        both_S = has[kind] & has.get(w.ORIGINAL, np.zeros_like(has[kind]))
        if kind != w.ORIGINAL and both_S.any():
            before, after = (source.of_kind(name, both_S) for name in (w.ORIGINAL, kind))
            estimate = difference_of(before, after, study.config)
            rows.append(row(arm.labels, estimate, metric=AGAINST, wording=kind,
                            certified=certified(estimate)))  # fmt: skip
    return rows


def _sizes(task: TaskStudy, layout: w.Layout) -> str:
    sizes = layout.held_SW.sum(1)
    least, most = int(sizes.min()), int(sizes.max())
    how = str(most) if least == most else f"{least} to {most}"
    text = f"{task.task}: {len(sizes)} sources with {how} wordings each."
    return text if least == most else f"{text} Of more wordings the worst is lower."


def _sentences(task: TaskStudy, rows: Sequence[Row]) -> list[str]:
    table = Table(name="", title="", rows=tuple(rows))
    said: list[str] = []
    for arm in task.arms:
        whole = {name: next(r.estimate for r in table.select(metric=name, **arm.labels)
                            if "wording" not in r.labels)
                 for name in (RATE, WORST, AGREE, SAME)}  # fmt: skip
        said.append(
            f"{task.task}, {arm.policy} at {arm.spec}: pass rate {_percent(whole[RATE])} over "
            f"wordings, {_percent(whole[WORST])} at the worst wording; two answers agree in "
            f"{_percent(whole[AGREE])} across wordings and {_percent(whole[SAME])} within one."
        )
    return said


def _percent(one: Estimate) -> str:
    if one.value is None:
        return "unknown"
    text = f"{100 * one.value:.1f} %"
    if one.low is None or one.high is None:
        return text
    return f"{text} [{100 * one.low:.1f}, {100 * one.high:.1f}]"
