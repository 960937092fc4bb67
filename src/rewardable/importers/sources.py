"""Open a file of rows, whatever it is written in, and count what is wrong with it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rewardable.errors import ConfigError, DataError
from rewardable.importers.lines import json_rows, split_lines
from rewardable.importers.streams import PACKED, chunks_of

FORMATS = ("jsonl", "csv", "tsv", "parquet")
_SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}


class CsvReader(Protocol):
    """What ``csv.reader`` returns."""

    @property
    def line_num(self) -> int: ...  # noqa: D102
    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


class Row(NamedTuple):
    """One record and where it stands: line of a text file, row of a table, from 1.

    Of a dump of several files, ``"12 of 5.jsonl"``.
    """

    number: int | str
    value: dict[str, Any]


@dataclass(slots=True)
class Damage:
    """What could not be read. Filled while the rows are read."""

    torn_line: int | None = None
    """the last line, left unfinished by whoever wrote it"""
    broken_lines: list[int] = field(default_factory=list)
    """lines in the middle that are no records, left out because that was asked for"""
    cut_stream: bool = False
    """the compressed stream ends before its end"""


def format_of(path: Path, given: str | None) -> str:
    """Return the format of a file: the given one, else by its suffix."""
    if given is not None and given not in FORMATS:
        raise ConfigError(f"unknown file format {given!r}; expected one of {', '.join(FORMATS)}.")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    guess = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if given is None and guess is None:
        raise ConfigError(
            f"cannot tell the format of {path.name} from its name; name one of "
            f"{', '.join(FORMATS)}."
        )
    return given or guess or ""


def read_rows(path: Path, kind: str, damage: Damage, *, skip_broken: bool) -> Iterator[Row]:
    """Yield the records of a file in order.

    Raises DataError for a file that cannot be read and for a broken line in the middle, unless
    ``skip_broken``.
    """
    if kind == "parquet":
        yield from _parquet_rows(path)
        return
    chunks = chunks_of(path, damage)
    if kind == "jsonl":
        rows = json_rows(split_lines(chunks), path, damage, skip_broken=skip_broken)
        yield from (Row(number, value) for number, value in rows)
    else:
        yield from _csv_rows(chunks, path, damage, "\t" if kind == "tsv" else ",")


def _csv_rows(chunks: Iterator[bytes], path: Path, damage: Damage, delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_text_lines(chunks, path), delimiter=delimiter, strict=True)
    _, header = next(_records(reader), (1, list[str]()))
    if isinstance(header, str) or len(set(header)) < len(header):
        raise DataError(f"{path.name}: the header is broken or names a column twice: {header}.")
    held: tuple[int, list[str] | str] | None = None
    for record in _records(reader):
        if held is not None:
            yield _row(held, header, path)
        held = record
    if held is not None and damage.cut_stream:
        damage.torn_line = held[0]
    elif held is not None:
        yield _row(held, header, path)


def _records(reader: CsvReader) -> Iterator[tuple[int, list[str] | str]]:
    """Yield (line, cells), or (line, what is wrong) where the reader gives up."""
    try:
        for cells in filter(None, reader):
            yield reader.line_num, cells
    except csv.Error as error:
        yield reader.line_num, str(error)


def _row(record: tuple[int, list[str] | str], header: list[str], path: Path) -> Row:
    number, cells = record
    if isinstance(cells, str):
        raise DataError(f"{path.name} line {number}: {cells}.")
    if len(cells) != len(header):
        raise DataError(
            f"{path.name} line {number}: {len(cells)} cells, expected {len(header)} as in the "
            "header."
        )
    return Row(number, dict(zip(header, cells, strict=True)))


def _text_lines(chunks: Iterator[bytes], path: Path) -> Iterator[str]:
    for number, line in enumerate(split_lines(chunks), start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8") + "\n"
        except UnicodeDecodeError as error:
            raise DataError(f"{path.name} line {number} is not UTF-8: {error}.") from error


def _parquet_rows(path: Path) -> Iterator[Row]:
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                for value in batch.to_pylist():
                    number += 1
                    yield Row(number, value)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        line = str(error).split("\n", 1)[0]
        raise DataError(f"{path.name} is no sound Parquet file (row {number}): {line}.") from error
