"""Rows of a data set: from a JSONL file, from a folder that ``datasets`` reads, or from the hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.tasks.math.sources import SOURCES, Problem
from rewardable.tasks.rows import from_datasets, read_file


def load_problems(name: str, path: str, split: str) -> tuple[Problem, ...]:
    """Return the problems of a data set in its order.

    Raises
    ------
    DataError: a file that cannot be read, or a row without question or answer.
    MissingExtraError: ``datasets`` is needed and not installed.
    """
    source, place = SOURCES[name], Path(path)
    if path and not place.is_dir():
        rows = read_file(place)
    elif path:
        rows = from_datasets(name, path, split)
    else:
        rows = from_datasets(name, source.hub, split, source.subset)
    return tuple(_problem(name, row, i) for i, row in enumerate(rows))


def _problem(name: str, row: dict[str, Any], index: int) -> Problem:
    problem = SOURCES[name].reader(row)
    if not problem.question or not problem.answer:
        raise DataError(
            f"row {index} of {name} needs a question and its answer, got fields "
            f"{', '.join(sorted(row))}; see docs/math-graders.md for the fields of each data set."
        )
    return problem
