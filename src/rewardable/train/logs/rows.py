"""Lines of JSON, one a logged step: torn ends are mended, steps done again replace theirs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class MetricsFile:
    """Lines of JSON objects that have a ``step``, appended and at once on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        """Return the whole lines; one without its end is no line."""
        if not self.path.is_file():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return [row for line in lines if (row := _row(line)) is not None]

    def start(self, step: int) -> int:
        """Make ready to go on after ``step``: drop a torn end and the rows of later steps.

        Returns how many rows were dropped. What is kept is written anew beside it and put in its
        place, so that a kill loses nothing.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        found = self.rows()
        kept = [row for row in found if row["step"] <= step]
        text = "".join(_line(row) for row in kept)
        if self.path.is_file() and self.path.read_bytes() != text.encode():
            beside = self.path.with_name(f".tmp-{os.getpid()}-{self.path.name}")
            beside.write_text(text, encoding="utf-8")
            beside.replace(self.path)
        return len(found) - len(kept)

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows."""
        if rows:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("".join(_line(row) for row in rows))


def plain(value: Any) -> Any:
    """Return what stands for a value in JSON: null for numbers that are none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _line(row: Mapping[str, Any]) -> str:
    told = {name: plain(value) for name, value in row.items()}
    return json.dumps(told, allow_nan=False, ensure_ascii=True) + "\n"


def _row(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None
