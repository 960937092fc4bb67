"""Judgements on disk: JSON lines as they are made, and CSV files for people."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError

JUDGEMENTS = "judgements.jsonl"
RIGHT, WRONG, SKIP = "correct", "wrong", "skip"
SHORT = {"c": RIGHT, "w": WRONG, "s": SKIP, "1": RIGHT, "0": WRONG}
COLUMNS = ("question", "judgement", "prompt", "reference", "response")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a person judges; the verdicts are not shown."""

    key: str
    prompt: str
    reference: str
    response: str


def judgement_named(text: str) -> str:
    """Return ``correct``, ``wrong`` or ``skip`` for a word or its letter; ConfigError otherwise."""
    said = SHORT.get(text.strip().lower(), text.strip().lower())
    if said not in (RIGHT, WRONG, SKIP):
        raise ConfigError(f"a judgement is correct, wrong or skip (c, w, s), got {text!r}.")
    return said


def add_judgement(path: Path, key: str, said: str) -> None:
    """Append a judgement; a line that was cut off before is closed first."""
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")
        file.write(json.dumps({"question": key, "judgement": said}).encode() + b"\n")


def read_judgements(path: Path) -> dict[str, str]:
    """Return question -> judgement, the last of each; lines that were cut off do not count."""
    said: dict[str, str] = {}
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for number, line in enumerate(text.split("\n"), start=1):
        row = _json(line)
        if row is None:
            continue
        if not isinstance(row, dict) or row.get("judgement") not in (RIGHT, WRONG, SKIP):
            raise DataError(f"{path} line {number} is no judgement; mend or remove it.")
        said[str(row.get("question"))] = row["judgement"]
    return said


def write_questions(path: Path, questions: Sequence[Question]) -> None:
    """Write questions as CSV with an empty column ``judgement``."""
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for one in questions:
            shown = (one.prompt, one.reference, one.response)
            writer.writerow([one.key, "", *map(_plain, shown)])


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def read_told(path: Path, known: set[str]) -> Iterator[tuple[str, str]]:
    """Yield (question, judgement) of a CSV's rows that have one; DataError names a wrong row."""
    csv.field_size_limit(2**31 - 1)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {error}.") from error
    if not rows or not set(COLUMNS[:2]) <= set(rows[0]):
        raise DataError(f"{path} needs the columns {', '.join(COLUMNS[:2])} and a row.")
    for number, row in enumerate(rows, start=1):
        yield from _row_told(path, number, row, known)


def _row_told(
    path: Path, number: int, row: Mapping[str, str | None], known: set[str]
) -> Iterator[tuple[str, str]]:
    key, said = (row["question"] or "").strip(), (row["judgement"] or "").strip()
    if key not in known:
        raise DataError(f"{path} row {number}: the sample has no question {key!r}.")
    try:
        if said:
            yield key, judgement_named(said)
    except ConfigError as error:
        raise DataError(f"{path} row {number}: {error}") from error


def _plain(text: str) -> str:
    """Keep a spreadsheet from taking a text for a formula, and bytes that CSV cannot hold away."""
    text = text.replace("\x00", "\\x00")
    return f"'{text}" if text.startswith(_FORMULA) else text
