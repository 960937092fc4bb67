"""Charts along an axis that is no budget: positions, layers, tokens given."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from rewardable.report.charts import HEIGHT, WIDTH, Chart, Points
from rewardable.report.text import visible
from rewardable.report.theme import INK


def along(
    points: Points, names: Sequence[str], colours: Sequence[str], *, title: str,
    signed: bool = False,
) -> Chart:  # fmt: skip
    """Lines with their intervals over whole numbers. Points: name, k, value, low, high."""
    rows = [{**point, "name": visible(str(point["name"]))} for point in points]
    colour = alt.Color("name:N").scale(domain=[visible(n) for n in names], range=list(colours))
    colour = colour.legend(symbolOpacity=1, symbolType="circle", columns=3)
    places = sorted({int(point["k"]) for point in rows})
    step = max(1, len(places) // 10)
    x = alt.X("k:Q").scale(nice=False).axis(
        values=places[::step], grid=False, title=title, format="d", domain=True
    )  # fmt: skip
    axis = alt.Axis(title=None, tickCount=5, domain=False, ticks=False, format=".2~f")
    base = alt.Chart(alt.Data(values=rows), width=WIDTH, height=HEIGHT).encode(x=x, color=colour)
    y = alt.Y("value:Q").axis(axis).scale(zero=True, nice=True)
    layers: list[alt.Chart] = [
        base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q").axis(axis), y2="high:Q"),
        base.mark_line(strokeWidth=2.2).encode(y=y),
        base.mark_point(filled=True, size=26, opacity=1).encode(y=y),
    ]
    if signed:
        zero = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(color=INK, strokeWidth=1)
        layers.insert(0, zero.encode(y=alt.Y("value:Q").axis(axis)))
    return alt.layer(*layers)
