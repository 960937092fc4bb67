"""The grids of joint verdicts: marginals, both, one only, neither; one a task."""

from __future__ import annotations

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.pick import Tables, ordered
from rewardable.results import Row


def joint(tables: Tables) -> tuple[Grid, ...]:
    """Show where the rollouts of every task with joint verdicts lie, and how that changed."""
    tasks = ordered(row.labels["task"] for row in tables.table("joint").rows)
    return tuple(_grid(tables, task) for task in tasks)


def _grid(tables: Tables, task: str) -> Grid:
    rows = tables.rows("joint", task=task)
    columns = ordered(row.labels["cell"] for row in rows)
    arms = [row for row in rows if "policy" in row.labels]
    heads = ordered(_head(row) for row in (*arms, *rows))
    lines = [
        Line(head=head, cells=tuple(_cell(rows, head, column) for column in columns))
        for head in heads
    ]
    return Grid(title=f"{task}: shares of rollouts", columns=tuple(columns), lines=tuple(lines))


def _head(row: Row) -> str:
    labels = row.labels
    if "policy" in labels:
        return f"{labels['policy']}, {labels['spec']}"
    return f"{labels['after']} minus {labels['before']}, {labels['spec']}"


def _cell(rows: tuple[Row, ...], head: str, column: str) -> Cell:
    row = next((r for r in rows if _head(r) == head and r.labels["cell"] == column), None)
    if row is None:
        return EMPTY
    return (
        pair_cell(row, percent=True) if "before" in row.labels else cell(row.estimate, percent=True)
    )
