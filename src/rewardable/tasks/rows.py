"""Rows of a data set: from a JSON or JSONL file, from a folder, or from the hub."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from rewardable.errors import DataError, MissingExtraError

Row = dict[str, Any]
T = TypeVar("T")


def read_rows(name: str, path: str, hub: str, split: str) -> list[Row]:
    """Return the rows of a data set in its order.

    path: a file of one object a line or of one array; a folder of such files, read in the order
    of their names; another folder that ``datasets`` understands; empty for the hub's copy.

    Raises
    ------
    DataError: a file that cannot be read.
    MissingExtraError: ``datasets`` is needed and not installed.
    """
    place = Path(path)
    if not path or not place.exists() or (place.is_dir() and not _files(place)):
        if path and not place.is_dir():
            raise DataError(f"{name}: there is no {path}; pass path=FILE.jsonl or a folder.")
        return from_datasets(name, path or hub, split)
    return [row for file in _files(place) for row in read_file(file)]


def seeded(items: Sequence[T], count: int, seed: int, name: str, aside: str = "") -> list[T]:
    """Return ``count`` items in a seeded order; a larger count continues the same order.

    Raises
    ------
    DataError: fewer items than asked for; ``aside`` says what was left out.
    """
    if count > len(items):
        raise DataError(f"{name} has {len(items)} prompts{aside}, {count} were asked for.")
    order = list(items)
    random.Random(f"{name.partition(':')[0]} {seed}").shuffle(order)
    return order[:count]


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix in (".json", ".jsonl"))


def read_file(path: Path) -> list[Row]:
    """Return the objects of a file; DataError for anything but JSON."""
    try:
        text = path.read_text(encoding="utf-8")
        if text.lstrip().startswith("["):
            return json.loads(text)
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot read {path} ({error}); expected JSON: one object a line, or one array."
        ) from error


def from_datasets(name: str, where: str, split: str, subset: str = "") -> list[Row]:
    """Return the rows of a folder or a hub name that ``datasets`` reads.

    Raises
    ------
    DataError: it cannot be read. MissingExtraError: ``datasets`` is not installed.
    """
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise MissingExtraError(
            f"{name} from {where} needs `datasets`: pip install 'rewardable[train]', or pass "
            f"{name}:path=FILE.jsonl."
        ) from error
    try:
        return [dict(row) for row in load_dataset(where, subset or None, split=split)]
    except (OSError, ValueError) as error:
        raise DataError(
            f"cannot load {where}, split {split!r}: {error}. Pass {name}:path=FILE.jsonl to read a "
            "local copy."
        ) from error
