"""The grids of paraphrases: all wordings together, and by kind of wording; two a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.pick import Tables, ordered
from rewardable.results import Row


def robustness(tables: Tables) -> tuple[Grid, ...]:
    """Show how answers hold across the wordings of a prompt, for every task that has some."""
    grids: list[Grid] = []
    for task in ordered(row.labels["task"] for row in tables.table("robustness").rows):
        rows = tables.rows("robustness", task=task)
        whole = [row for row in rows if "wording" not in row.labels]
        kinds = [row for row in rows if "wording" in row.labels]
        grids.append(_grid(f"{task}: all wordings", whole, lambda row: str(row.labels["metric"])))
        grids.append(_grid(f"{task}: by wording", kinds, _kind))
    return tuple(grids)


def _grid(title: str, rows: Sequence[Row], column: Callable[[Row], str]) -> Grid:
    columns = ordered(map(column, rows))
    lines = [
        Line(head=head, cells=tuple(_cell(rows, head, name, column) for name in columns))
        for head in ordered(map(_head, rows))
    ]
    return Grid(title=title, columns=tuple(columns), lines=tuple(lines))


def _kind(row: Row) -> str:
    change = "" if row.labels["metric"] == "pass rate" else " minus original"
    return f"{row.labels['wording']}{change}"


def _head(row: Row) -> str:
    labels = row.labels
    if "policy" in labels:
        return f"{labels['policy']}, {labels['spec']}"
    return f"{labels['after']} minus {labels['before']}, {labels['spec']}"


def _cell(rows: Sequence[Row], head: str, name: str, column: Callable[[Row], str]) -> Cell:
    row = next((r for r in rows if _head(r) == head and column(r) == name), None)
    if row is None:
        return EMPTY
    changes = "certified" in row.labels
    return pair_cell(row, percent=True) if changes else cell(row.estimate, percent=True)
