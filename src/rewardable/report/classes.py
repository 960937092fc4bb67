"""The grids of accuracy by gold class, balanced accuracy and refusal errors; one a task."""

from __future__ import annotations

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.pick import Tables, ordered
from rewardable.results import Row


def classes(tables: Tables) -> tuple[Grid, ...]:
    """Show the rates of every task that has classes, with the constant baselines last."""
    tasks = ordered(row.labels["task"] for row in tables.table("classes").rows)
    return tuple(_grid(tables, task) for task in tasks)


def _grid(tables: Tables, task: str) -> Grid:
    rows = tables.rows("classes", task=task)
    columns = ordered(_column(row) for row in rows if row.labels["metric"] != "constant")
    heads = ordered(_head(row) for row in rows)
    lines = [
        Line(head=head, cells=tuple(_cell(rows, head, column) for column in columns))
        for head in heads
    ]
    named = f"{task}: accuracy by class"
    return Grid(title=named, columns=tuple(columns), lines=tuple(_constants_last(lines)))


def _constants_last(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: line.head.startswith("always "))


def _column(row: Row) -> str:
    labels = row.labels
    if labels["metric"] == "constant":
        return str(labels["of"])
    if "error" in labels:
        return str(labels["error"])
    return f"accuracy, {labels['class']}" if "class" in labels else str(labels["metric"])


def _head(row: Row) -> str:
    labels = row.labels
    if labels["metric"] == "constant":
        return f"always {labels['answer']}"
    if "policy" in labels:
        return f"{labels['policy']}, {labels['spec']}"
    return f"{labels['after']} minus {labels['before']}, {labels['spec']}"


def _cell(rows: tuple[Row, ...], head: str, column: str) -> Cell:
    row = next((r for r in rows if _head(r) == head and _column(r) == column), None)
    if row is None:
        return EMPTY
    if "before" in row.labels:
        return pair_cell(row, percent=True)
    return cell(row.estimate, percent=True)
