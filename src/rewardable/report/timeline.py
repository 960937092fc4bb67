"""The page of a training run: one figure a panel over its steps, the guard's decisions marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from rewardable.report.cells import Cell, Grid, Line, cell
from rewardable.report.charts import HEIGHT, WIDTH, Chart, to_svg
from rewardable.report.figures import Figure
from rewardable.report.located import Panel
from rewardable.report.numbers import percent_level
from rewardable.report.page import render_page, write_page
from rewardable.report.text import tables_block, visible
from rewardable.report.theme import BASE, BETWEEN, INK, LAST, MUTED
from rewardable.results import Row, Table

HEADINGS = {
    "reward": "Reward, mean of a step",
    "entropy": "Entropy, nats",
    "KL": "KL, nats",
    "length": "Length, tokens",
    "shares": "Shares of a step",
    "distinct a group": "Distinct a group",
}
MARKS = {"warn": BETWEEN[0], "act": LAST, "stop": LAST, "roll_back": LAST, "rollback": LAST}
"""Colours of decisions; others are drawn in ink."""
COLOURS = (BASE, LAST, BETWEEN[1], BETWEEN[3])


def render_timeline(table: Table, path: str | Path, *, title: str) -> Path:
    """Write the page of a timeline's table to ``path``, atomically, and return it."""
    marks = [_mark(row) for row in table.rows if row.labels["panel"] in ("decision", "rollback")]
    panels = [
        Panel(key="training", title="Training", figures=_training(table, marks), grids=(),
              notes=()),
        Panel(key="looks", title="Sampled looks at later tasks", figures=_looks(table, marks),
              grids=(), notes=()),
        Panel(key="decisions", title="Decisions of the guard", figures=(), grids=_grids(table),
              notes=()),
    ]  # fmt: skip
    html = render_page(
        "located.html.j2",
        title=title,
        sentences=table.notes,
        panels=[panel for panel in panels if panel.figures or panel.grids],
        block=tables_block({table.name: table}),
    )
    return write_page(html, path)


def _mark(row: Row) -> dict[str, Any]:
    panel = str(row.labels["panel"])
    state = panel if panel == "rollback" else str(row.labels["state"])
    return {"step": row.labels["step"], "state": state.replace("_", " "),
            "colour": MARKS.get(state, INK)}  # fmt: skip


def _training(table: Table, marks: Sequence[dict[str, Any]]) -> tuple[Figure, ...]:
    drawn: list[Figure] = []
    for panel, heading in HEADINGS.items():
        rows = table.select(panel=panel)
        if rows:
            drawn.append(_figure(rows, heading, marks, _marked(marks)))
    return tuple(drawn)


def _looks(table: Table, marks: Sequence[dict[str, Any]]) -> tuple[Figure, ...]:
    looks = table.select(panel="looks")
    drawn: list[Figure] = []
    for line in dict.fromkeys(str(row.labels["line"]) for row in looks):
        rows = [row for row in looks if row.labels["line"] == line]
        known = rows[0].estimate.low is not None
        level = f"{percent_level(rows[0].estimate.level)} intervals of one look; " if known else ""
        caption = f"{level}{rows[0].estimate.n_prompts} prompts a task. {_marked(marks)}".strip()
        drawn.append(_figure(rows, f"{line} on later tasks", marks, caption, by="task"))
    return tuple(drawn)


def _marked(marks: Sequence[dict[str, Any]]) -> str:
    return "Dashed: decisions of the guard." if marks else ""


def _figure(
    rows: Sequence[Row], heading: str, marks: Sequence[dict[str, Any]], caption: str,
    by: str = "line",
) -> Figure:  # fmt: skip
    chart = _chart([_point(row, by) for row in rows], marks)
    return Figure(svg=to_svg(chart, f"{heading}. {caption}"), heading=heading, caption=caption)


def _point(row: Row, by: str) -> dict[str, Any]:
    one = row.estimate
    return {
        "name": visible(str(row.labels[by]).partition(":")[0]),
        "step": row.labels["step"],
        "value": one.value,
        "low": one.low,
        "high": one.high,
    }


def _chart(points: Sequence[dict[str, Any]], marks: Sequence[dict[str, Any]]) -> Chart:
    names = list(dict.fromkeys(str(point["name"]) for point in points))
    colour = alt.Color("name:N").scale(domain=names, range=list(COLOURS[: len(names)] or COLOURS))
    colour = colour.legend(symbolOpacity=1, symbolType="stroke", columns=2)
    base = alt.Chart(alt.Data(values=list(points)), width=WIDTH, height=HEIGHT).encode(
        x=alt.X("step:Q").axis(title="step", grid=False, format="d", domain=True).scale(nice=False),
        color=colour,
    )
    axis = alt.Axis(title=None, tickCount=5, domain=False, ticks=False, format=".2~f")
    y = alt.Y("value:Q").axis(axis).scale(zero=True, nice=True)
    layers: list[alt.Chart] = [base.mark_line(strokeWidth=1.6).encode(y=y)]
    spread = [point for point in points if point["low"] is not None]
    if spread:
        rules = base.mark_rule(strokeWidth=1.4, opacity=0.45)
        layers.append(rules.encode(y=alt.Y("low:Q").axis(axis), y2="high:Q"))
        layers.append(base.mark_point(filled=True, size=28, opacity=1).encode(y=y))
    return alt.layer(*layers, *_rules(marks))


def _rules(marks: Sequence[dict[str, Any]]) -> list[alt.Chart]:
    if not marks:
        return []
    base = alt.Chart(alt.Data(values=list(marks))).encode(x="step:Q")
    colour = alt.Color("colour:N", scale=None)
    words = base.mark_text(align="left", baseline="top", dx=4, fontSize=11, color=MUTED)
    return [
        base.mark_rule(strokeDash=[5, 4], strokeWidth=1.4).encode(color=colour),
        words.encode(y=alt.value(2), text="state:N"),
    ]


def _grids(table: Table) -> tuple[Grid, ...]:
    rows = table.select(panel="decision")
    if not rows:
        return ()
    lines = tuple(
        Line(
            head=f"step {row.labels['step']}: {row.labels['state']}",
            cells=(
                cell(row.estimate) if row.labels["line"] else Cell(text="–"),
                Cell(text=str(row.labels["line"] or "–"), note=str(row.labels["task"] or "")),
                Cell(text=str(row.labels["done"] or "–")),
            ),
        )
        for row in rows
    )
    return (Grid(title="Decisions", columns=("value", "signal", "done"), lines=lines,
                 neutral=True),)  # fmt: skip
