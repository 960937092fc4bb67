"""A dump as a source of rows: one file or a folder of them, of a known format or as mapped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.importers.format import Convert, Notes, RowReader
from rewardable.importers.report import damage_warnings
from rewardable.importers.sources import Damage, Row, read_rows

_NUMBERS = re.compile(r"(\d+)")


@dataclass(kw_only=True, slots=True)
class Dump:
    """Files, and how to read them. ``damages`` and ``notes`` are filled while rows are read.

    format: what the files were read as, for people.
    """

    path: Path
    files: tuple[Path, ...]
    format: str
    rows_of: RowReader
    convert: Convert | None = None
    notes: Notes = field(default_factory=Notes)
    skip_broken: bool = False
    damages: list[tuple[str, Damage]] = field(default_factory=list[tuple[str, Damage]])

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all files; a file that cannot be read ends it unless skipped."""
        for path in self.files:
            damage = Damage()
            self.damages.append((path.name, damage))
            try:
                for row in self.rows_of(path, damage):
                    yield self._named(row, path)
            except DataError as error:
                if not self.skip_broken or len(self.files) == 1:
                    raise
                self.notes.warnings.append(f"{path.name} was left out: {error}")

    def records(self, row: Row) -> Iterable[Mapping[str, Any]]:
        """Return what a row turns into; DataError when it cannot be used."""
        return (row.value,) if self.convert is None else self.convert(row)

    def warnings(self) -> list[str]:
        """Return what was wrong with the files, and what the format's reader warned of."""
        several = len(self.files) > 1
        found = [
            f"{name}: {sentence}" if several else sentence
            for name, damage in self.damages
            for sentence in damage_warnings(damage)
        ]
        return [*found, *self.notes.warnings]

    @property
    def torn_line(self) -> int | None:
        """The unfinished last line of a file, of the first that has one."""
        return next((d.torn_line for _, d in self.damages if d.torn_line is not None), None)

    @property
    def broken_lines(self) -> tuple[int, ...]:
        """Lines that were left out, of all files."""
        return tuple(line for _, damage in self.damages for line in damage.broken_lines)

    def _named(self, row: Row, path: Path) -> Row:
        if len(self.files) == 1:
            return row
        return Row(f"{row.number} of {path.name}", row.value)


def in_order(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Sort by name, numbers by their value: 2.jsonl before 10.jsonl."""
    return tuple(sorted(paths, key=lambda path: [_part(p) for p in _NUMBERS.split(path.name)]))


def _part(text: str) -> tuple[int, int | str]:
    return (0, int(text)) if text.isdigit() else (1, text)


def plain(kind: str, *, skip_broken: bool) -> RowReader:
    """Return the reader of lines or of a table."""

    def rows(path: Path, damage: Damage) -> Iterator[Row]:
        return read_rows(path, kind, damage, skip_broken=skip_broken)

    return rows
