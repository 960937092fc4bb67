"""The report of ``restore``: what candidates keep against what they regain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from rewardable.report.cells import Cell, Grid, Line, cell
from rewardable.report.charts import Chart, to_svg
from rewardable.report.figures import Figure
from rewardable.report.located import Panel
from rewardable.report.numbers import number, percent_level
from rewardable.report.page import render_page, write_page
from rewardable.report.text import tables_block, visible
from rewardable.report.theme import BASE, BETWEEN, LAST, MUTED, PAPER
from rewardable.results import Row, Table

KEPT = "pass@1"
ROLES = {
    "trained": (LAST, "diamond"),
    "chosen": (BETWEEN[1], "square"),
    "uniform": (BASE, "triangle-up"),
    "candidate": (MUTED, "circle"),
    "baseline": (BETWEEN[2], "cross"),
}
SPLITS = {"confirmation": "The proof, on prompts that the search has not seen",
          "selection": "The search"}  # fmt: skip
NAMED = frozenset({"trained", "chosen", "uniform"})


def render_restored(table: Table, path: str | Path, *, title: str, objective: str) -> Path:
    """Write the page to ``path``, atomically, and return it; every number is the table's."""
    panels = [_panel(table, split, heading, objective) for split, heading in SPLITS.items()
              if table.select(split=split)]  # fmt: skip
    html = render_page(
        "located.html.j2",
        title=title,
        sentences=table.notes,
        panels=panels,
        block=tables_block({table.name: table}),
    )
    return write_page(html, path)


def _panel(table: Table, split: str, heading: str, objective: str) -> Panel:
    levels = table.select(split=split, of="level")
    regained = [str(row.labels["metric"]) for row in levels if row.labels["metric"] != KEPT]
    metrics = sorted(dict.fromkeys(regained), key=lambda name: name != objective)
    figures = [pareto(levels, metric) for metric in metrics]
    return Panel(
        key=split,
        title=heading,
        figures=tuple(figure for figure in figures if figure is not None),
        grids=(_grid(table, split, metrics),),
        notes=(),
    )


def pareto(levels: Sequence[Row], metric: str) -> Figure | None:
    """Draw pass@1 against ``metric``, a point a policy with both intervals; None without points."""
    by_policy: dict[str, dict[str, Row]] = {}
    for row in levels:
        by_policy.setdefault(str(row.labels["policy"]), {})[str(row.labels["metric"])] = row
    points = [
        _point(name, rows[KEPT], rows[metric])
        for name, rows in by_policy.items()
        if KEPT in rows and metric in rows and rows[metric].estimate.value is not None
        and rows[KEPT].estimate.value is not None
    ]  # fmt: skip
    if not points:
        return None
    heading = f"{KEPT} against {metric}"
    counts = sorted({row.estimate.n_prompts for row in levels})
    prompts = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    caption = (
        f"Each point is a policy, with {percent_level(levels[0].estimate.level)} intervals over "
        f"{prompts} prompts; the further up and to the right the better."
    )
    return Figure(svg=to_svg(_chart(points, metric), caption), heading=heading, caption=caption)


def _point(name: str, kept: Row, regained: Row) -> dict[str, Any]:
    role = str(kept.labels["role"])
    point: dict[str, Any] = {"name": visible(name) if role in NAMED else "", "role": role}
    for axis, estimate in (("x", kept.estimate), ("y", regained.estimate)):
        point[axis] = estimate.value
        point[f"{axis}_low"] = estimate.value if estimate.low is None else estimate.low
        point[f"{axis}_high"] = estimate.value if estimate.high is None else estimate.high
    return point


def _chart(points: Sequence[Mapping[str, Any]], metric: str) -> Chart:
    present = [role for role in ROLES if any(point["role"] == role for point in points)]
    colour = alt.Color("role:N").scale(domain=present, range=[ROLES[role][0] for role in present])
    shape = alt.Shape("role:N").scale(domain=present, range=[ROLES[role][1] for role in present])
    scale = alt.Scale(zero=False, nice=True)
    ordered = sorted(points, key=lambda point: point["role"] in NAMED)
    base = alt.Chart(alt.Data(values=ordered), width=460, height=340).encode(color=colour)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q").scale(scale).axis(title=KEPT, tickCount=5)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q").scale(scale).axis(title=visible(metric), tickCount=5)

    rule = base.mark_rule(strokeWidth=1.4, opacity=0.35)
    dots = base.mark_point(filled=True, size=80, opacity=0.95, stroke=PAPER, strokeWidth=0.6)
    words = base.mark_text(align="left", dx=8, dy=-8)
    return alt.layer(
        rule.encode(x=x("x_low"), x2="x_high", y=y("y")),
        rule.encode(x=x("x"), y=y("y_low"), y2="y_high"),
        dots.encode(x=x("x"), y=y("y"), shape=shape),
        words.encode(x=x("x"), y=y("y"), text="name:N"),
    )


def _grid(table: Table, split: str, metrics: Sequence[str]) -> Grid:
    names = dict.fromkeys(str(row.labels["policy"]) for row in table.select(split=split))
    columns = (KEPT, *metrics, "change of pass@1", "passes a token")
    lines = tuple(_line(table, split, name, metrics) for name in names)
    return Grid(title=f"all policies, {split}", columns=columns, lines=lines, neutral=True,
                folded=len(lines) > 12)  # fmt: skip


def _line(table: Table, split: str, name: str, metrics: Sequence[str]) -> Line:
    rows = {str(row.labels["metric"]): row for row in
            table.select(split=split, policy=name, of="level")}  # fmt: skip
    first = next(iter(rows.values()))
    cells = [cell(rows[metric].estimate if metric in rows else None) for metric in (KEPT, *metrics)]
    changes = table.select(split=split, policy=name, of="change", metric=f"{KEPT}, one-sided")
    cells.append(_kept_cell(changes[0]) if changes else Cell(text="–"))
    cells.append(Cell(text=f"{first.labels['passes']:g}"))
    return Line(head=f"{name} ({first.labels['role']})", cells=tuple(cells))


def _kept_cell(row: Row) -> Cell:
    labels, estimate = row.labels, row.estimate
    said = "certified" if labels["certified"] else "not certified"
    note = (
        f"at least {number(estimate.low, percent=True, signed=True)}; {said} within "
        f"{number(float(labels['margin'] or 0), percent=True)}; the prompts carry "
        f"{number(float(labels['carried'] or 0), percent=True)}"
    )
    return Cell(text=number(estimate.value, percent=True, signed=True) + " points", note=note)
