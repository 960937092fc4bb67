"""How a file begins, whatever its name says: the evidence that tells which tool wrote it."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rewardable.errors import DataError
from rewardable.importers.format import Head
from rewardable.importers.sources import FORMATS, Damage, format_of, read_rows
from rewardable.importers.streams import chunks_of

_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:')
"""How inspect_ai begins a log in one JSON document."""
_TABLES = ("csv", "tsv")


def look(path: Path, kind: str | None = None) -> Head:
    """Read the beginning of a file; ``kind`` overrides what it looks like."""
    damage = Damage()
    start = next(chunks_of(path, damage), b"")[: 1 << 16]
    if not start:
        raise DataError(f"{path.name} is empty, or its stream is damaged from the start.")
    if start.startswith(b"PK\x03\x04"):
        return Head(path=path, kind="zip")
    if start.startswith(b"PAR1"):
        return _parquet(path)
    if _LOG.match(start.removeprefix(b"\xef\xbb\xbf")):
        return Head(path=path, kind="json")
    kind = kind or _kind(path)
    row = _first_row(path, kind)
    numeric = tuple(name for name, value in row.items() if _is_number(value))
    return Head(path=path, kind=kind, columns=tuple(row), row=row, numeric=numeric)


def _kind(path: Path) -> str:
    """Lines of JSON unless the name says that it is a table."""
    suffixes = {suffix.lower().removeprefix(".") for suffix in path.suffixes}
    return format_of(path, None) if suffixes & set(_TABLES) else FORMATS[0]


def _first_row(path: Path, kind: str) -> dict[str, Any]:
    rows = read_rows(path, kind, Damage(), skip_broken=True)
    return next((row.value for row in islice(rows, 1)), {})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _parquet(path: Path) -> Head:
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            batch = next(file.iter_batches(batch_size=1), None)
    except (pa.ArrowException, OSError, ValueError) as error:
        line = str(error).split("\n", 1)[0]
        raise DataError(f"{path.name} is no sound Parquet file: {line}.") from error
    numeric = tuple(field.name for field in schema if pa.types.is_floating(field.type))
    row = batch.to_pylist()[0] if batch is not None and batch.num_rows else {}
    return Head(path=path, kind="parquet", columns=tuple(schema.names), row=row, numeric=numeric)
