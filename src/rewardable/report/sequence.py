"""The figure of a sequence: changes by stage and task, one panel an order."""

from __future__ import annotations

from typing import Any

import altair as alt
import vl_convert

from rewardable.errors import DataError
from rewardable.report.text import visible
from rewardable.report.theme import BASE, BETWEEN, INK, LAST, PAPER, vega_config
from rewardable.results import Row, Table

ROLES = {"target": "its target", "next": "what comes next", "other": "other tasks"}
COLOURS = (LAST, BASE, BETWEEN[1])
METRICS = ("pass@k", "support@k", "trainability")
TITLES = ("pass@1", "prompts with support", "groups with reward variation")


def sequence_figure(table: Table) -> str:
    """Draw the changes that each stage made, with their intervals, as SVG.

    Raises DataError when the table holds no change.
    """
    rows = [row for row in table.rows if row.labels.get("of") == "change"]
    points = [_point(row) for row in rows if row.estimate.value is not None]
    if not points:
        raise DataError("the table of the sequence holds no change to draw.")
    panels = [
        _panel([p for p in points if p["metric"] == metric], title)
        for metric, title in zip(METRICS, TITLES, strict=True)
    ]
    config: Any = {**vega_config(), "background": PAPER, "padding": 12}
    spec = alt.hconcat(*panels, spacing=30).configure(**config).to_dict()
    return vl_convert.vegalite_to_svg(spec)


def _point(row: Row) -> dict[str, Any]:
    labels, estimate = row.labels, row.estimate
    return {
        "metric": labels["metric"],
        "stage": visible(f"{labels['order']}: {labels['position']}. {labels['stage']}"),
        "task": visible(str(labels["task"]).partition(":")[0]),
        "role": ROLES[str(labels["role"])],
        "value": estimate.value,
        "low": estimate.value if estimate.low is None else estimate.low,
        "high": estimate.value if estimate.high is None else estimate.high,
    }


def _panel(points: list[dict[str, Any]], title: str) -> Any:
    heading = alt.TitleParams(f"Change of {title}", anchor="start", fontSize=14, offset=10)
    stages = list(dict.fromkeys(str(point["stage"]) for point in points))
    colour = alt.Color("role:N").scale(domain=list(ROLES.values()), range=list(COLOURS))
    base = alt.Chart(width=220, height=64).encode(y=alt.Y("task:N").axis(title=None), color=colour)
    axis = alt.Axis(title=None, tickCount=5)
    zero = alt.Chart(alt.Data(values=[{"at": 0}])).mark_rule(color=INK, strokeWidth=1)
    layers = alt.layer(
        zero.encode(x="at:Q"),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q").axis(axis), x2="high:Q"),
        base.mark_point(filled=True, size=50, opacity=1).encode(x=alt.X("value:Q").axis(axis)),
        data=alt.Data(values=points),
    )
    header = alt.Header(labelAnchor="start", labelOrient="top", title=None, labelFontSize=11)
    row = alt.Row("stage:N", sort=stages, header=header)
    return layers.facet(row=row, spacing=6).properties(title=heading)
