"""The figure of a choice: target success over the worst margin, and every constraint's interval."""

from __future__ import annotations

from typing import Any

import altair as alt
import vl_convert

from rewardable.errors import DataError
from rewardable.report.text import visible
from rewardable.report.theme import BASE, BETWEEN, INK, LAST, MUTED, PAPER, vega_config
from rewardable.results import Row, Table

CHOSEN, FRONT, BEATEN = "first", "beaten by none", "beaten"
PLACES = {CHOSEN: BASE, FRONT: BETWEEN[1], BEATEN: MUTED}
JUDGEMENTS = {"holds": BETWEEN[1], "open": BETWEEN[0], "violated": LAST}


def choose_figure(table: Table) -> str:
    """Draw the candidates and their constraints as SVG; DataError where there is no candidate."""
    points = _candidates(table)
    if not points:
        raise DataError("the table of the choice holds no candidate to draw.")
    panels: list[Any] = [_pareto(points)]
    constraints = [_constraint(row) for row in table.select(what="constraint")]
    drawn = [point for point in constraints if point["value"] is not None]
    if drawn:
        panels.append(_constraints(drawn))
    config: Any = {**vega_config(), "background": PAPER, "padding": 12}
    spec = alt.hconcat(*panels, spacing=40).resolve_scale(color="independent")
    return vl_convert.vegalite_to_svg(spec.configure(**config).to_dict())


def _candidates(table: Table) -> list[dict[str, Any]]:
    margins = {row.labels["policy"]: row.estimate.value for row in table.select(what="margin")}
    return [
        {
            **_ends(row),
            "name": visible(str(row.labels["policy"])),
            "short": visible(str(row.labels["policy"]).rpartition("/")[2]),
            "margin": margins[row.labels["policy"]],
            "place": _place(row),
        }
        for row in table.select(what="target")
        if row.labels["policy"] in margins and row.estimate.value is not None
    ]


def _place(row: Row) -> str:
    if row.labels["rank"] == 1:
        return CHOSEN
    return FRONT if row.labels["pareto"] else BEATEN


def _ends(row: Row) -> dict[str, Any]:
    one = row.estimate
    return {
        "value": one.value,
        "low": one.value if one.low is None else one.low,
        "high": one.value if one.high is None else one.high,
    }


def _pareto(points: list[dict[str, Any]]) -> Any:
    heading = alt.TitleParams("Target success over the worst margin", anchor="start", fontSize=14)
    base = alt.Chart(alt.Data(values=points), width=340, height=280)
    scale = alt.Scale(domain=list(PLACES), range=list(PLACES.values()))
    colour = alt.Color("place:N").scale(scale)
    x = alt.X("margin:Q").axis(title="worst margin (1 no change, 0 the bound)", tickCount=6)
    axis = alt.Axis(title="pass@1 on the target", tickCount=5)
    y = alt.Y("value:Q").axis(axis).scale(zero=False, nice=True)
    bound = alt.Chart(alt.Data(values=[{"margin": 0}]))
    bound = bound.mark_rule(color=INK, strokeDash=[4, 4], strokeWidth=1).encode(x="margin:Q")
    low = alt.Y("low:Q").axis(axis).scale(zero=False)
    return alt.layer(
        bound,
        base.mark_rule(strokeWidth=2, opacity=0.4).encode(x=x, y=low, y2="high:Q", color=colour),
        base.mark_point(filled=True, size=80, opacity=1).encode(x=x, y=y, color=colour),
        base.mark_text(align="left", dx=8, dy=-6, color=INK, fontSize=11).encode(
            x=x, y=y, text="short:N"
        ),
    ).properties(title=heading)


def _constraint(row: Row) -> dict[str, Any]:
    task = str(row.labels["task"]).partition(":")[0]
    return {
        **_ends(row),
        "name": visible(str(row.labels["policy"])),
        "what": visible(f"{row.labels['metric']}, {task}"),
        "judgement": row.labels["judgement"],
        "least": row.labels["least"],
    }


def _constraints(points: list[dict[str, Any]]) -> Any:
    heading = alt.TitleParams("Change against the base, and its bound", anchor="start", fontSize=14)
    base = alt.Chart(width=240, height=alt.Step(18)).encode(
        y=alt.Y("name:N").sort(None).axis(title=None)
    )
    scale = alt.Scale(domain=list(JUDGEMENTS), range=list(JUDGEMENTS.values()))
    colour = alt.Color("judgement:N").scale(scale)
    x = alt.X("value:Q").axis(title=None, tickCount=5)
    low = alt.X("low:Q").axis(title=None, tickCount=5)
    layers = alt.layer(
        base.mark_tick(color=INK, thickness=1.5, size=18).encode(x="least:Q"),
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(x=low, x2="high:Q", color=colour),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=x, color=colour),
        data=alt.Data(values=points),
    )
    row = alt.Row("what:N").title(None).sort(None)
    row = row.header(labelAngle=0, labelAnchor="start", labelOrient="top", labelColor=INK)
    return layers.facet(row=row, spacing=6).properties(title=heading)
