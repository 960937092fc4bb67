"""The one figure for a README: what a budget of samples reaches, and how much of it is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from rewardable.errors import ConfigError, DataError
from rewardable.report import charts
from rewardable.report.figures import points_of
from rewardable.report.pick import SIMULTANEOUS, Tables
from rewardable.report.theme import PAPER, policy_colours, vega_config
from rewardable.results import Row, Table

SIZE = (340, 240)


def figure_svg(tables: Mapping[str, Table], task: str | None = None) -> str:
    """Draw pass@k and solution coverage@k of base and trained policies, with their bands, as SVG.

    ``task``: the main task unless named. The figure has a white ground of its own, so that it
    reads on any page. Raises DataError when the tables hold no curve of the task.
    """
    return vl_convert.vegalite_to_svg(_poster(Tables(tables), task))


def write_figure(tables: Mapping[str, Table], path: str | Path, task: str | None = None) -> Path:
    """Write :func:`figure_svg` to ``path``: an SVG, or a PNG of twice its size.

    Raises ConfigError for another suffix.
    """
    path = Path(path)
    spec = _poster(Tables(tables), task)
    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
    elif path.suffix == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
    else:
        raise ConfigError(f"a figure is written as .svg or .png, not as {path.suffix!r}.")
    return path


def _poster(tables: Tables, task: str | None) -> dict[str, object]:
    name = task or next(iter(tables.tasks), "")
    panels = [
        _panel(tables, name, rows, title)
        for rows, title in (
            (_rows(tables, "curves", name, metric="pass@k"),
             "Share of prompts solved within k samples (pass@k)"),
            (_rows(tables, "coverage", name, kind="solution", scope="all prompts"),
             "Share of all correct solutions found within k"),
        )
        if rows
    ]  # fmt: skip
    if not panels:
        raise DataError(f"no curve of task {name!r} in the tables: {', '.join(tables.by_name)}.")
    config: Any = {**vega_config(), "background": PAPER, "padding": 12}
    return alt.hconcat(*panels, spacing=36).configure(**config).to_dict()


def _rows(tables: Tables, source: str, task: str, **labels: str) -> list[Row]:
    spec = tables.specs(task)[:1]
    rows = tables.arm_rows(source, task=task, band=SIMULTANEOUS, **labels)
    return [row for row in rows if row.labels["spec"] in spec]


def _panel(tables: Tables, task: str, rows: list[Row], title: str) -> charts.Chart:
    policies = tables.policies(task)
    points = points_of(rows, lambda row: str(row.labels["policy"]))
    chart = charts.budget_curves(points, policies, policy_colours(policies), size=SIZE)
    heading = alt.TitleParams(title, anchor="start", fontSize=14, fontWeight="normal", offset=10)
    return chart.properties(title=heading)
