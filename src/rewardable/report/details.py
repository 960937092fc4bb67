"""The tables of calls, temperatures, shape and truncation."""

from __future__ import annotations

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.numbers import count
from rewardable.report.pick import SIMULTANEOUS, Tables
from rewardable.results import Label, Row


def calls(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show the number of prompts by call."""
    rows = tables.rows("transitions", task=task, kind="summary")
    if not rows:
        return ()
    names = list(dict.fromkeys(str(row.labels["call"]) for row in rows))
    subjects = list(dict.fromkeys((str(r.labels["after"]), str(r.labels["spec"])) for r in rows))
    lines = [
        Line(
            head=f"{after}, {spec}",
            cells=tuple(Cell(text=count(_call(tables, task, after, spec, name))) for name in names),
        )
        for after, spec in subjects
    ]
    grid = Grid(title="Prompts by call", columns=tuple(names), lines=tuple(lines), folded=True)
    return (grid,)


def _call(tables: Tables, task: str, after: str, spec: str, call: str) -> float | None:
    labels = {"task": task, "after": after, "spec": spec, "call": call, "kind": "summary"}
    found = tables.estimate("transitions", **labels)
    return None if found is None else found.value


def specs(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show support@k of every trained policy and spec against every spec of the base."""
    if len(tables.specs(task)) < 2:
        return ()
    k = tables.headline_k(task)
    labels: dict[str, Label] = {"metric": "support@k", "k": k, "band": SIMULTANEOUS}
    rows = tables.pair_rows("differences", task=task, **labels)
    lines = [
        Line(
            head=f"{row.labels['after']} {row.labels['spec_after']} minus "
            f"{row.labels['before']} {row.labels['spec_before']}",
            cells=(pair_cell(row),),
        )
        for row in rows
    ]
    caption = (
        "Where the trained policy, sampled hotter, shows no fall against the base, part of the "
        "loss is sharpening. Where a fall stays at every temperature, it is not."
    )
    title = f"support@{k} across temperatures"
    return (Grid(title=title, columns=("difference",), lines=tuple(lines), caption=caption),)


def trainability(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show trainability and reward variance of every arm, and the differences."""
    found = tables.rows("trainability", task=task)
    if not found:
        return ()
    metrics = tuple(dict.fromkeys(str(row.labels["metric"]) for row in found))
    batch = {str(row.labels["metric"]): row.labels.get("batch") for row in found}
    columns = tuple(f"{name} of {batch[name]}" if batch[name] else name for name in metrics)
    lines = [
        Line(head=head, cells=tuple(_trainable_cell(rows, metric) for metric in metrics))
        for head, rows in subjects(tables, found, task)
    ]
    return (Grid(title="Trainability", columns=columns, lines=tuple(lines)),)


def _trainable_cell(rows: list[Row], metric: str) -> Cell:
    row = next((r for r in rows if r.labels["metric"] == metric), None)
    if row is None:
        return EMPTY
    percent = metric.startswith("trainability")
    if "policy" in row.labels:
        return cell(row.estimate, percent=percent)
    return pair_cell(row, percent=percent)


def shape(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show diversity, wording and lengths of every arm, and the differences; one grid a group."""
    groups: dict[str, list[Row]] = {}
    for row in tables.rows("shape", task=task):
        groups.setdefault(str(row.labels["group"]), []).append(row)
    return tuple(
        _shape_grid(tables, task, title, tuple(found), folded=place > 0)
        for place, (title, found) in enumerate(groups.items())
    )


def _shape_grid(
    tables: Tables, task: str, title: str, found: tuple[Row, ...], *, folded: bool
) -> Grid:
    names = list(dict.fromkeys((str(r.labels["metric"]), r.labels["k"]) for r in found))
    units = {str(r.labels["metric"]): str(r.labels["unit"]) for r in found}
    lines = [
        Line(head=head, cells=tuple(_shape_cell(rows, metric, k) for metric, k in names))
        for head, rows in subjects(tables, found, task)
    ]
    columns = tuple(_shape_head(metric, k, units[metric]) for metric, k in names)
    return Grid(title=title, columns=columns, lines=tuple(lines), neutral=True, folded=folded)


def subjects(tables: Tables, found: tuple[Row, ...], task: str) -> list[tuple[str, list[Row]]]:
    """Group rows by arm or pair, under the words that head a line."""
    names = tables.arm_names(task)
    groups: dict[str, list[Row]] = {}
    for row in found:
        labels = row.labels
        if "policy" in labels:
            head = names[str(labels["policy"]), str(labels["spec"])]
        else:
            spec = f", {labels['spec']}" if len(tables.specs(task)) > 1 else ""
            head = f"{labels['after']} minus {labels['before']}{spec}"
        groups.setdefault(head, []).append(row)
    return list(groups.items())


_PLAIN = {"share", "ratio", "probability"}
"""Units that need no word."""


def _shape_head(metric: str, k: Label, unit: str) -> str:
    if metric == "truncation rate":
        return "cut off"
    if k:
        return f"{metric} in {k}"
    return metric if unit in _PLAIN else f"{metric}, {unit}"


def _shape_cell(rows: list[Row], metric: str, k: Label) -> Cell:
    row = next((r for r in rows if r.labels["metric"] == metric and r.labels["k"] == k), None)
    percent = row is not None and row.labels["unit"] == "share"
    if row is None or "policy" in row.labels:
        return cell(row.estimate if row else None, percent=percent)
    return pair_cell(row, percent=percent)


def truncation(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show pass@1 and pass@k with truncated answers as judged, counted as wrong and left out."""
    found = [row for row in tables.rows("truncation", task=task) if "truncated" in row.labels]
    if not found:
        return ()
    readings = list(dict.fromkeys(str(row.labels["truncated"]) for row in found))
    return tuple(
        Grid(
            title=f"pass@{k} under three readings of truncated answers",
            columns=tuple(readings),
            lines=tuple(
                Line(head=head, cells=tuple(_reading_cell(rows, k, name) for name in readings))
                for head, rows in subjects(tables, tuple(found), task)
            ),
        )
        for k in dict.fromkeys(row.labels["k"] for row in found)
    )


def _reading_cell(rows: list[Row], k: Label, reading: str) -> Cell:
    row = next(r for r in rows if r.labels["k"] == k and r.labels["truncated"] == reading)
    return cell(row.estimate) if "policy" in row.labels else pair_cell(row)
