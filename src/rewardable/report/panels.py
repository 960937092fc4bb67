"""The tables of support dynamics, polarisation, richness, models and gates."""

from __future__ import annotations

from collections.abc import Sequence

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.details import subjects
from rewardable.report.pick import Tables, ordered
from rewardable.results import Label, Row


def _cell(row: Row | None, *, percent: bool = False) -> Cell:
    if row is None:
        return EMPTY
    if "policy" in row.labels:
        return cell(row.estimate, percent=percent)
    return pair_cell(row, percent=percent)


def _first(rows: Sequence[Row], **labels: Label) -> Row | None:
    wanted = labels.items()
    return next((row for row in rows if all(row.labels.get(k) == v for k, v in wanted)), None)


def dynamics(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show retention, discovery and net change of every pair, for prompts and for solutions."""
    found = tables.rows("dynamics", task=task)
    if not found:
        return ()
    k, metrics = found[0].labels["k"], ordered(row.labels["metric"] for row in found)
    lines = [
        Line(
            head=f"{head.replace(' minus ', ' after ')}: {units}",
            cells=tuple(
                cell(None if one is None else one.estimate)
                for one in (_first(rows, metric=metric, units=units) for metric in metrics)
            ),
        )
        for head, rows in subjects(tables, found, task)
        for units in ordered(row.labels["units"] for row in rows)
    ]
    title = f"Within {k} samples of each policy"
    return (Grid(title=title, columns=tuple(metrics), lines=tuple(lines)),)


def polarisation(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show polarisation of every arm and its change."""
    found = tables.rows("polarisation", task=task)
    if not found:
        return ()
    lines = [Line(head=head, cells=(_cell(rows[0]),))
             for head, rows in subjects(tables, found, task)]  # fmt: skip
    title = "Polarisation"
    return (Grid(title=title, columns=("polarisation",), lines=tuple(lines), neutral=True),)


def models(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show what a model says beyond the data, on demand."""
    found = tables.rows("models", task=task)
    if not found:
        return ()
    columns = list(dict.fromkeys((str(r.labels["metric"]), r.labels["k"], _edge(r)) for r in found))
    lines = [
        Line(
            head=head,
            cells=tuple(_cell(_first(rows, metric=metric, k=k)) for metric, k, _ in columns),
        )
        for head, rows in subjects(tables, found, task)
    ]
    heads = tuple(_model_head(metric, k, edge) for metric, k, edge in columns)
    caption = "Models, not measurements: what the mixture that fits the counts best would give."
    return (
        Grid(title="models, not measurements", columns=heads, lines=tuple(lines), caption=caption,
             folded=True, neutral=True),
    )  # fmt: skip


def _edge(row: Row) -> str:
    edge = row.labels.get("edge")
    return "" if edge is None else f"{float(str(edge)):.2g}"


def _model_head(metric: str, k: Label, edge: str) -> str:
    if k:
        return f"pass@{k}"
    return f"{metric} (within {edge})" if edge else metric


def richness(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show diversity at equal successes for each kind; where totals are unknown, richness."""
    found = tables.rows("richness", task=task)
    grids: list[Grid] = []
    for kind in ordered(row.labels["kind"] for row in found):
        mine = tuple(row for row in found if row.labels["kind"] == kind)
        equal = tuple(row for row in mine if "successes" in row.labels)
        rest = tuple(row for row in mine if "successes" not in row.labels)
        grids += [_equal(tables, task, equal, kind)] if equal else []
        grids += [_exist(tables, task, rest, kind)] if rest else []
    return tuple(grids)


def _equal(tables: Tables, task: str, found: tuple[Row, ...], kind: str) -> Grid:
    steps = list(dict.fromkeys((r.labels["successes"], r.labels["kept"]) for r in found))
    lines = [
        Line(head=head, cells=tuple(_cell(_first(rows, successes=m)) for m, _ in steps))
        for head, rows in subjects(tables, found, task)
    ]
    caption = "Only prompts on which every policy has that many successes, the easy ones, are left."
    return Grid(
        title=f"{found[0].labels['metric']}, {kind}".capitalize(),
        columns=tuple(f"{m} successes, {kept} prompts left" for m, kept in steps),
        lines=tuple(lines),
        caption=caption,
        folded=True,
    )


def _exist(tables: Tables, task: str, found: tuple[Row, ...], kind: str) -> Grid:
    metrics = ordered(row.labels["metric"] for row in found)
    lines = [
        Line(head=head, cells=tuple(_cell(_first(rows, metric=metric)) for metric in metrics))
        for head, rows in subjects(tables, found, task)
    ]
    caption = "Means over prompts with a success. Chao1 is a lower bound for how many exist."
    return Grid(title=f"How many right answers exist ({kind})", columns=tuple(metrics),
                lines=tuple(lines), caption=caption, folded=True, neutral=True)  # fmt: skip
