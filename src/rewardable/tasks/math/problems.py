"""Rows of a data set: from a JSONL file, from a folder that ``datasets`` reads, or from the hub."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rewardable.errors import DataError, MissingExtraError
from rewardable.tasks.math.sources import SOURCES, Problem


def load_problems(name: str, path: str, split: str) -> tuple[Problem, ...]:
    """Return the problems of a data set in its order.

    Raises
    ------
    DataError: a file that cannot be read, or a row without question or answer.
    MissingExtraError: ``datasets`` is needed and not installed.
    """
    place = Path(path)
    rows = _read_file(place) if path and not place.is_dir() else _load(name, path, split)
    return tuple(_problem(name, row, i) for i, row in enumerate(rows))


def _problem(name: str, row: dict[str, Any], index: int) -> Problem:
    problem = SOURCES[name].reader(row)
    if not problem.question or not problem.answer:
        raise DataError(
            f"row {index} of {name} needs a question and its answer, got fields "
            f"{', '.join(sorted(row))}; see docs/math-graders.md for the fields of each data set."
        )
    return problem


def _read_file(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read {path} as JSONL ({error}); pass path=FILE with one object a line, or "
            "the folder of a data set."
        ) from error


def _load(name: str, folder: str, split: str) -> list[dict[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError(
            f"{name} from the hub or from a folder needs `datasets`: pip install "
            f"'rewardable[train]', or pass {name}:path=FILE.jsonl."
        ) from error
    source = SOURCES[name]
    where, subset = (folder, None) if folder else (source.hub, source.subset or None)
    try:
        return [dict(row) for row in load_dataset(where, subset, split=split)]
    except (OSError, ValueError) as error:
        raise DataError(f"cannot load {where}, split {split!r}: {error}") from error
