"""Which rows of which table make which figure, with its caption in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.report import charts
from rewardable.report.numbers import percent_level
from rewardable.report.pick import SIMULTANEOUS, Tables
from rewardable.report.theme import CALL_COLOURS, policy_colours
from rewardable.results import Label, Row


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A drawn figure: SVG text, the heading above it and the caption below it."""

    svg: str
    heading: str
    caption: str


Key = Callable[[Row], str]


def points_of(rows: Sequence[Row], name: Key) -> list[dict[str, Any]]:
    """Rows as points of a chart; rows without a value are no points."""
    return [
        {
            "name": name(row),
            "k": row.labels.get("k"),
            "value": row.estimate.value,
            "low": row.estimate.value if row.estimate.low is None else row.estimate.low,
            "high": row.estimate.value if row.estimate.high is None else row.estimate.high,
        }
        for row in rows
        if row.estimate.value is not None
    ]


def arm_curves(
    tables: Tables, task: str, heading: str, what: str, source: str, **labels: Label
) -> Figure | None:
    """Curves of a metric over budgets, one an arm at the headline spec."""
    rows = tables.arm_rows(source, task=task, band=SIMULTANEOUS, **labels)
    rows = [row for row in rows if row.labels["spec"] == tables.specs(task)[0]]
    return _curves(rows, lambda row: str(row.labels["policy"]), tables, task, heading, what)


def spec_curves(tables: Tables, task: str, heading: str, what: str, policy: str) -> Figure | None:
    """pass@k of one policy at several specs, one colour a spec."""
    rows = tables.arm_rows("curves", task=task, band=SIMULTANEOUS, metric="pass@k", policy=policy)
    return _curves(rows, lambda row: str(row.labels["spec"]), tables, task, heading, what)


def _curves(
    rows: Sequence[Row], name: Key, tables: Tables, task: str, heading: str, what: str
) -> Figure | None:
    points = points_of(rows, name)
    if not points:
        return None
    names = list(dict.fromkeys(point["name"] for point in points))
    drawn = [name for name in tables.policies(task) if name in names] or names
    chart = charts.budget_curves(points, drawn, policy_colours(drawn))
    caption = f"{what} {_band_words(rows[0])}"
    return Figure(svg=charts.to_svg(chart, f"{heading}. {caption}"), heading=heading,
                  caption=caption)  # fmt: skip


def _band_words(row: Row) -> str:
    estimate = row.estimate
    return (
        f"Bands: {percent_level(estimate.level)} simultaneous over all budgets, over "
        f"{estimate.n_prompts} prompts and their samples."
    )


def pair_curves(
    tables: Tables, task: str, heading: str, what: str, source: str, **labels: Label
) -> Figure | None:
    """Paired differences over budgets, one curve a trained policy at the headline spec."""
    spec = tables.specs(task)[0]
    rows = tables.pair_rows(source, task=task, band=SIMULTANEOUS, spec_before=spec, spec_after=spec,
                            **labels)  # fmt: skip
    points = points_of(rows, lambda row: str(row.labels["after"]))
    if not points:
        return None
    policies = tables.policies(task)
    names = [name for name in policies[1:] if any(point["name"] == name for point in points)]
    colours = dict(zip(policies, policy_colours(policies), strict=True))
    chart = charts.budget_curves(
        points, names, [colours[name] for name in names], signed=True, from_zero=True
    )
    caption = f"{what} Where the whole band lies below zero, a loss is certified."
    caption = f"{caption} {_band_words(rows[0])}"
    return Figure(svg=charts.to_svg(chart, f"{heading}. {caption}"), heading=heading,
                  caption=caption)  # fmt: skip


def dots(
    tables: Tables, task: str, heading: str, what: str, source: str, *, percent: bool,
    **labels: Label,
) -> Figure | None:  # fmt: skip
    """One metric without a budget, a dot and interval an arm."""
    names = tables.arm_names(task)
    rows = tables.arm_rows(source, task=task, **labels)
    points = points_of(rows, lambda row: names[str(row.labels["policy"]), str(row.labels["spec"])])
    if not points:
        return None
    policies = tables.policies(task)
    colours = dict(zip(policies, policy_colours(policies), strict=True))
    present = [name for name in names.values() if any(p["name"] == name for p in points)]
    shown = [colours[policy] for (policy, _), name in names.items() if name in present]
    chart = charts.interval_dots(points, present, shown, title="", percent=percent)
    estimate = rows[0].estimate
    level = percent_level(estimate.level)
    caption = f"{what} Dots with {level} intervals over {estimate.n_prompts} prompts."
    return Figure(svg=charts.to_svg(chart, f"{heading}. {caption}"), heading=heading,
                  caption=caption)  # fmt: skip


def calls(tables: Tables, task: str) -> Figure | None:
    """How many prompts were lost, kept, gained, one bar a comparison."""
    rows = tables.rows("transitions", task=task, kind="summary")
    if not rows:
        return None
    several = len(tables.specs(task)) > 1
    order = {call: place for place, call in enumerate(CALL_COLOURS)}
    points = [
        {
            "name": f"{row.labels['after']}, {row.labels['spec']}" if several
            else str(row.labels["after"]),
            "call": str(row.labels["call"]),
            "count": int(row.estimate.value or 0),
            "order": order.get(str(row.labels["call"]), len(order)),
            "wide": (row.estimate.value or 0) >= row.estimate.n_prompts / 16,
        }
        for row in rows
    ]  # fmt: skip
    names = list(dict.fromkeys(str(point["name"]) for point in points))
    chart = charts.call_bars(points, names)
    caption = (
        f"Each of the {rows[0].estimate.n_prompts} prompts by what happened to it since the base. "
        "Lost, reduced, gained and raised are certified; undecided prompts would need more samples."
    )
    return Figure(svg=charts.to_svg(chart, caption), heading="Prompts by call", caption=caption)


def scatter(tables: Tables, task: str) -> Figure | None:
    """Success rate of each prompt before and after, for the last trained policy."""
    spec = tables.specs(task)[0]
    after = tables.policies(task)[-1]
    rows = tables.rows("transitions", task=task, kind="prompt", after=after, spec_before=spec,
                       spec_after=spec)  # fmt: skip
    if not rows:
        return None
    points = [
        {
            "before": row.labels["p_before"],
            "after": row.labels["p_after"],
            "call": row.labels["call"],
        }
        for row in rows
    ]
    before = str(rows[0].labels["before"])
    chart = charts.before_after(points, before=before, after=after)
    caption = (
        f"Each mark is one of {len(rows)} prompts: share of right answers of {before} across, of "
        f"{after} upwards. On the dashed line nothing changed; marks on the floor have no success "
        "left in the sample. Square-root scale, so that rare successes can be told apart."
    )
    return Figure(svg=charts.to_svg(chart, caption), heading="Each prompt, before and after",
                  caption=caption)  # fmt: skip
