"""JSON Lines as they are found: torn tails, broken middles, odd characters inside strings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from rewardable.errors import DataError

_BOM = b"\xef\xbb\xbf"


class _Damage(Protocol):
    torn_line: int | None
    broken_lines: list[int]


def split_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield lines without their ``\n``, the only end of a line; a ``\r`` before it stays."""
    pieces: list[bytes] = []
    for chunk in chunks:
        first, *rest = chunk.split(b"\n")
        pieces.append(first)
        for piece in rest:
            yield b"".join(pieces)
            pieces = [piece]
    if any(pieces):
        yield b"".join(pieces)


def json_rows(
    lines: Iterator[bytes], path: Path, damage: _Damage, *, skip_broken: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of every record; blank lines are no records.

    A line that is no record is torn when nothing follows it, and broken otherwise: DataError, or
    counted when ``skip_broken``.
    """
    bad: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(_BOM) if number == 1 else line
        if not text.strip():
            continue
        if bad is not None:
            _broken(bad, path, damage, skip_broken=skip_broken)
        value, why = _parse(text)
        bad = None if value is not None else (number, why)
        if value is not None:
            yield number, value
    if bad is not None:
        damage.torn_line = bad[0]


def _parse(line: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return None, f"{type(error).__name__}: {error}"
    if isinstance(value, dict):
        return value, ""
    return None, f"expected an object, got {type(value).__name__}"


def _broken(bad: tuple[int, str], path: Path, damage: _Damage, *, skip_broken: bool) -> None:
    number, why = bad
    if not skip_broken:
        raise DataError(
            f"{path.name} line {number} is no JSON object ({why}), and records follow it, so this "
            "is damage and no unfinished tail. Repair the file, or ask to skip broken lines."
        )
    damage.broken_lines.append(number)
