"""Vega-Lite charts of estimates, drawn as SVG. A chart gets points, never tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import vl_convert

from rewardable.report.text import visible
from rewardable.report.theme import CALL_COLOURS, CALL_SHAPES, INK, MUTED, PAPER, vega_config

Points = Sequence[Mapping[str, Any]]
Chart = alt.Chart | alt.LayerChart | alt.FacetChart
WIDTH, HEIGHT = 370, 230


def to_svg(chart: Chart, description: str) -> str:
    """Draw a chart; ``description`` is what a screen reader says of it."""
    spec = (
        chart.configure(**vega_config()).properties(description=description).to_dict(validate=False)
    )
    svg = vl_convert.vegalite_to_svg(spec)
    return svg.replace("<svg ", '<svg role="img" ', 1)


def budget_curves(
    points: Points, names: Sequence[str], colours: Sequence[str], *, from_zero: bool = True,
    size: tuple[int, int] = (WIDTH, HEIGHT), signed: bool = False,
) -> Chart:  # fmt: skip
    """Curves over budgets k with bands. Points: name, k, value, low, high."""
    rows = [{**point, "name": visible(str(point["name"]))} for point in points]
    labels = [visible(name) for name in names]
    ks = sorted({int(point["k"]) for point in rows})
    colour = alt.Color("name:N").scale(domain=labels, range=list(colours))
    colour = colour.legend(symbolOpacity=1, symbolType="circle", columns=4)
    x = alt.X("k:Q").scale(type="log", base=2, nice=False, domain=[ks[0], max(ks[-1], 2)])
    x = x.axis(values=_powers(ks), grid=False, title="k samples", format="d", domain=True)
    axis = alt.Axis(title=None, tickCount=5, domain=False, ticks=False,
                    format="+.2~f" if signed else ".2~f",
                    labelExpr="datum.value == 0 ? '0' : datum.label")  # fmt: skip
    y = alt.Y("value:Q").axis(axis).scale(zero=from_zero, nice=True)
    base = alt.Chart(alt.Data(values=rows), width=size[0], height=size[1]).encode(x=x, color=colour)
    layers: list[alt.Chart] = [
        base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q").axis(axis),
                                            y2="high:Q"),
        base.mark_line(strokeWidth=2.2).encode(y=y),
        base.mark_point(filled=True, size=26, opacity=1).encode(y=y),
    ]  # fmt: skip
    if signed:
        zero = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(color=INK, strokeWidth=1)
        layers.insert(0, zero.encode(y=alt.Y("value:Q").axis(axis)))
    return alt.layer(*layers)


def _powers(ks: Sequence[int]) -> list[int]:
    powers = [k for k in ks if k & (k - 1) == 0] or list(ks)
    return powers if len(powers) <= 9 else powers[::2]


def interval_dots(
    points: Points, names: Sequence[str], colours: Sequence[str], *, title: str,
    percent: bool = False, width: int = WIDTH,
) -> Chart:  # fmt: skip
    """One row a name: a dot and its interval, from zero. Points: name, value, low, high."""
    rows = [{**point, "name": visible(str(point["name"]))} for point in points]
    labels = [visible(name) for name in names]
    colour = alt.Color("name:N").scale(domain=labels, range=list(colours)).legend(None)
    y = alt.Y("name:N").sort(labels)
    y = y.axis(title=None, domain=False, ticks=False, labelColor=INK, labelLimit=280)
    axis = alt.Axis(title=title, tickCount=5, format=".0%" if percent else ".2~f", domain=False)
    base = alt.Chart(alt.Data(values=rows), width=width, height=34 * max(1, len(labels)))
    base = base.encode(y=y, color=colour)
    scale = alt.Scale(domain=[0, 1]) if percent else alt.Scale(zero=True)
    low = alt.X("low:Q").axis(axis).scale(scale)
    rule = base.mark_rule(strokeWidth=3, opacity=0.45).encode(x=low, x2="high:Q")
    dot = base.mark_point(filled=True, size=90, opacity=1)
    return alt.layer(rule, dot.encode(x=alt.X("value:Q").axis(axis)))


def call_bars(points: Points, names: Sequence[str], *, width: int = WIDTH) -> Chart:
    """One bar a name: its prompts by call, from loss to gain.

    Points: name, call, count, order, wide (whether the number fits into the bar).
    """
    rows = [{**point, "name": visible(str(point["name"]))} for point in points if point["count"]]
    labels = [visible(name) for name in names]
    calls = [call for call in CALL_COLOURS if any(row["call"] == call for row in rows)]
    base = alt.Chart(alt.Data(values=rows), width=width, height=44 * max(1, len(labels)))
    y = alt.Y("name:N").sort(labels).axis(title=None, domain=False, ticks=False, labelColor=INK)
    axis = alt.Axis(title="prompts", domain=False, tickCount=5)
    x = alt.X("count:Q").stack("zero").axis(axis).scale(nice=False)
    middle = alt.X("count:Q", bandPosition=0.5).stack("zero").axis(axis)
    colour = alt.Color("call:N").scale(domain=calls, range=[CALL_COLOURS[call] for call in calls])
    colour = colour.legend(symbolType="square", columns=4)
    bars = base.mark_bar(height=24, stroke=PAPER, strokeWidth=1.2)
    words = base.mark_text(color="#111111", fontSize=12)
    shown = alt.condition("datum.wide", alt.Text("count:Q"), alt.value(""))
    return alt.layer(
        bars.encode(y=y, x=x, color=colour, order="order:Q"),
        words.encode(y=y, x=middle, text=shown, detail="call:N", order="order:Q"),
    )


def before_after(points: Points, *, before: str, after: str, size: int = 300) -> Chart:
    """Success rate of each prompt before and after, by call. Points: before, after, call."""
    rows = list(points)
    calls = [call for call in CALL_COLOURS if any(row["call"] == call for row in rows)]
    axis: Any = {
        "values": [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1],
        "domain": False,
        "ticks": False,
        "format": ".2~f",
    }
    scale = alt.Scale(type="sqrt", domain=[0, 1], nice=False)
    x = alt.X("before:Q").scale(scale).axis(title=f"{visible(before)}: success rate", **axis)
    y = alt.Y("after:Q").scale(scale).axis(title=f"{visible(after)}: success rate", **axis)
    colour = alt.Color("call:N").scale(domain=calls, range=[CALL_COLOURS[call] for call in calls])
    shape = alt.Shape("call:N").scale(domain=calls, range=[CALL_SHAPES[call] for call in calls])
    legend = alt.Legend(columns=4, symbolOpacity=1)
    diagonal = alt.Chart(alt.Data(values=[{"a": 0, "b": 1}])).mark_rule(
        color=MUTED, strokeDash=[4, 4], strokeWidth=1
    )
    marks = alt.Chart(alt.Data(values=rows), width=WIDTH - 30, height=size).mark_point(
        filled=True, size=60, opacity=0.85, stroke=PAPER, strokeWidth=0.6
    )
    return alt.layer(
        diagonal.encode(x=alt.X("a:Q"), y=alt.Y("a:Q"), x2="b:Q", y2="b:Q"),
        marks.encode(x=x, y=y, color=colour.legend(legend), shape=shape.legend(legend)),
    )
