"""Tasks shown by their name alone; the settings at the end of the report give the options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from rewardable.results import Label, Table


def shortened(tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables with ``NAME:option=value,...`` written ``NAME`` where that is unique."""
    tasks = {
        str(row.labels["task"])
        for table in tables.values()
        for row in (*table.rows, *table.examples)
        if "task" in row.labels
    }
    shared = Counter(task.partition(":")[0] for task in tasks)
    short = {task: name for task in tasks if shared[name := task.partition(":")[0]] == 1}

    def labels(found: Mapping[str, Label]) -> Mapping[str, Label]:
        task = found.get("task")
        return {**found, "task": short[str(task)]} if str(task) in short else found

    return {
        name: replace(
            table,
            rows=tuple(replace(row, labels=labels(row.labels)) for row in table.rows),
            examples=tuple(replace(e, labels=labels(e.labels)) for e in table.examples),
        )
        for name, table in tables.items()
    }
