"""Which column of a dump means what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rewardable.errors import ConfigError, DataError, suggest, unknown_name

TARGETS = {
    "prompt": "text, or messages with role and content",
    "completion": "text, messages, or a list of them: one prompt a row",
    "score": "number or boolean, or a list of them; the success rule makes verdicts of it",
    "prompt_id": "what names the prompt within its task",
    "index": "which sample of its prompt a row is, from 0",
    "policy": "name of the policy",
    "task": "name of the task",
    "truth": "the gold answer; part of the prompt key where there is no prompt_id",
    "finish_reason": "why the completion ended, or whether it was truncated",
    "error": "why there is no completion; empty where there is one",
    "n": "number of graded samples (counts)",
    "c": "number of successes among them (counts)",
}
PREFIXES = {
    "label": "text to count, for example label.answer=pred; a list where completion is one",
    "fact": "what is known about the prompt, for example fact.level=level",
}
OPTIONAL = ("finish_reason", "error", "score")
"""Targets whose column may be absent from a row that has no value for it."""


def parse_field_map(text: str) -> dict[str, str]:
    """Read ``"prompt=question,completion=code"``; ConfigError for what cannot be meant."""
    fields: dict[str, str] = {}
    for item in filter(None, (piece.strip() for piece in text.split(","))):
        target, equals, column = (piece.strip() for piece in item.partition("="))
        if not equals or not target or not column:
            raise ConfigError(f"field map: expected target=column, got {item!r}.")
        if target in fields:
            raise ConfigError(f"field map: {target!r} is given twice.")
        fields[target] = column
    return fields


def check_field_map(fields: Mapping[str, str]) -> None:
    """Raise ConfigError for an unknown target or a map that makes no rollouts and no counts."""
    for target in fields:
        prefix, dot, name = target.partition(".")
        if target not in TARGETS and not (prefix in PREFIXES and dot and name):
            known = [*TARGETS, *(f"{prefix}.NAME" for prefix in PREFIXES)]
            raise unknown_name("field", target, known)
    if not {"prompt", "prompt_id"} & fields.keys():
        raise ConfigError("field map: give prompt, prompt_id, or both.")
    if ("n" in fields) != ("c" in fields):
        raise ConfigError("field map: counts need both n and c.")
    if ("n" in fields) == ("completion" in fields):
        raise ConfigError("field map: give either completion, or n and c.")
    if named(fields, "label") and "score" not in fields:
        raise ConfigError("field map: labels belong to verdicts; give score too.")
    clash = {"score", "index", "finish_reason", "error"} & fields.keys() if "n" in fields else set()
    if clash:
        raise ConfigError(f"field map: counts take no {', '.join(sorted(clash))}.")


def named(fields: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return NAME -> column of the targets ``prefix.NAME``."""
    start = f"{prefix}."
    return {key.removeprefix(start): col for key, col in fields.items() if key.startswith(start)}


class Columns:
    """Looks up mapped columns and remembers which of them were ever there."""

    def __init__(self, fields: Mapping[str, str], source: str) -> None:
        self._fields = fields
        self._source = source
        self._unseen = dict(fields)
        self._known: set[str] = set()

    def get(self, target: str, number: int | str, row: Mapping[str, Any]) -> Any:
        """Return the value of a target, None where it is not mapped; DataError if it is absent."""
        column = self._fields.get(target)
        if column is None:
            return None
        found, value = _lookup(row, column)
        if found:
            self._unseen.pop(target, None)
            return value
        self._known.update(row)
        if target not in OPTIONAL:
            listing = _listing(column, row)
            raise DataError(
                f"{self._source} row {number} has no column {column!r}; it has: {listing}"
            )
        return None

    def require_all_seen(self) -> None:
        """Raise DataError when a mapped column was in no row at all."""
        for target, column in self._unseen.items():
            raise DataError(
                f"{self._source}: for {target}, no row has a column {column!r}; they have: "
                f"{_listing(column, self._known)}"
            )


def _listing(column: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return f"{', '.join(names) or 'none'}.{suggest(column, names)}"


def _lookup(row: Mapping[str, Any], column: str) -> tuple[bool, Any]:
    """Find a column, else walk a dotted path into nested objects."""
    if column in row:
        return True, row[column]
    value: Any = row
    for name in column.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return False, None
        value = value[name]
    return True, value
