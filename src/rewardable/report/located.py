"""The report of ``locate``: one panel a method, from its tables alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardable.report.cells import Grid, Line, cell
from rewardable.report.charts import interval_dots, to_svg
from rewardable.report.figures import Figure, points_of
from rewardable.report.lines import along
from rewardable.report.numbers import percent_level
from rewardable.report.page import render_page, write_page
from rewardable.report.text import tables_block
from rewardable.report.theme import policy_colours
from rewardable.results import Label, Row, Table

HIDDEN = frozenset({"task", "metric"})
MOST_LINES = 400
"""Lines of a grid; what is left out is in the table's JSON."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One method: its figures, its numbers, and what its notes say."""

    key: str
    title: str
    figures: tuple[Figure, ...]
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]


def render_located(tables: Mapping[str, Table], path: str | Path, *, title: str) -> Path:
    """Write the page of ``locate``'s tables to ``path``, atomically, and return it."""
    panels = [_panel(table) for name, table in tables.items() if name != "located" and table.rows]
    html = render_page(
        "located.html.j2",
        title=title,
        sentences=tables["located"].notes,
        panels=panels,
        block=tables_block(tables),
    )
    return write_page(html, path)


def _panel(table: Table) -> Panel:
    return Panel(
        key=table.name,
        title=table.title,
        figures=tuple(figure for figure in _figures(table) if figure is not None),
        grids=_grids(table),
        notes=table.notes,
    )


def _grids(table: Table) -> tuple[Grid, ...]:
    """Return one grid a metric; a line is headed by whatever else tells the rows apart."""
    metrics = dict.fromkeys(str(row.labels.get("metric", "")) for row in table.rows)
    return tuple(_grid(metric, table.select(metric=metric)) for metric in metrics)


def _grid(metric: str, rows: Sequence[Row]) -> Grid:
    names = list(dict.fromkeys(n for row in rows for n in row.labels))
    shown = [n for n in names if n not in HIDDEN and len({r.labels.get(n) for r in rows}) > 1]
    signed = "change" in metric or "part" in metric or "minus" in metric or "effect" in metric
    lines = tuple(
        Line(head=_head(row, shown), cells=(cell(row.estimate, signed=signed),))
        for row in rows[:MOST_LINES]
    )
    return Grid(title=metric, columns=("value",), lines=lines, folded=True, neutral=True)


def _head(row: Row, shown: Sequence[str]) -> str:
    parts = [f"{name} {row.labels[name]}" for name in shown if row.labels.get(name) is not None]
    return ", ".join(parts) or "all"


def _figures(table: Table) -> list[Figure | None]:
    if table.name == "entries":
        return [_split(table, ""), _split(table, " of coverage"), _forced(table)]
    if table.name == "likelihood":
        sources = dict.fromkeys(str(row.labels["source"]) for row in table.rows)
        return [
            _line(table, f"|change of log-prob| a token, texts of {source}", "position", "after",
                  metric="|change| a token", source=source)
            for source in sources
        ]  # fmt: skip
    if table.name == "entropy":
        what = "Entropy of the next token, nats"
        return [_line(table, what, "position", "policy", metric="entropy a token")]
    if table.name == "interventions":
        what = "pass@1 behind openings of another policy"
        return [_line(table, what, "tokens", "policy", metric="pass@1", kind="dose")]
    if table.name == "drift":
        return [
            _line(table, f"Cosine distance of hidden states, {place}", "layer", "after",
                  metric="cosine distance", place=place)
            for place in ("end of prompt", "response")
        ]  # fmt: skip
    return []


def _line(table: Table, heading: str, axis: str, name: str, **labels: Label) -> Figure | None:
    rows = [row for row in table.select(**labels) if isinstance(row.labels.get(axis), int)]
    points = [
        {**point, "k": row.labels[axis]}
        for row in rows
        for point in points_of([row], lambda one: str(one.labels[name]))
    ]
    if not points:
        return None
    names = list(dict.fromkeys(str(point["name"]) for point in points))
    chart = along(points, names, policy_colours(names), title=axis)
    return Figure(svg=to_svg(chart, heading), heading=heading, caption=_caption(rows))


def _split(table: Table, what: str) -> Figure | None:
    wanted = {f"change{what or ' of pass@1'}", f"access part{what}", f"execution part{what}"}
    rows = [row for row in table.rows if row.labels["metric"] in wanted]
    heading = "The change of coverage" if what else "The change of pass@1"
    return _dots(rows, f"{heading}, by access and execution")


def _forced(table: Table) -> Figure | None:
    wanted = {"forced execution, before", "forced execution, after"}
    rows = [
        row
        for row in table.rows
        if row.labels["metric"] in wanted and row.labels.get("access") in ("low", "high")
    ]
    return _dots(rows, "Success with the entry given, families of low and of high access")


def _dots(rows: Sequence[Row], heading: str) -> Figure | None:
    def name(row: Row) -> str:
        extra = f", {row.labels['access']} access" if "access" in row.labels else ""
        metric = str(row.labels["metric"]).removesuffix(" of coverage").replace(" part", "")
        return f"{row.labels['after']}: {metric}{extra}"

    points = points_of(rows, name)
    if not points:
        return None
    names = list(dict.fromkeys(str(point["name"]) for point in points))
    chart = interval_dots(points, names, policy_colours(names), title="", width=300)
    return Figure(svg=to_svg(chart, heading), heading=heading, caption=_caption(rows))


def _caption(rows: Sequence[Row]) -> str:
    level = percent_level(rows[0].estimate.level)
    prompts = max(row.estimate.n_prompts for row in rows)
    return f"{level} intervals over up to {prompts} prompts."
