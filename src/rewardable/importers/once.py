"""Rows that name their sample: a repeated one is left out, a contradictory one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from rewardable.errors import DataError
from rewardable.importers.format import Notes
from rewardable.importers.sources import Row

MOST_ROWS = 1_000_000
"""That are looked for again, so that memory stays bounded."""


class Once:
    """Passes rows on whose columns ``names`` were not seen before."""

    def __init__(self, names: Sequence[str], notes: Notes) -> None:
        self._names = names
        self._notes = notes
        self._seen: dict[int, int] = {}

    def __call__(self, row: Row) -> Iterable[Mapping[str, Any]]:
        """Return the row, or nothing for a copy; DataError where two rows disagree."""
        return (row.value,) if self.first(row) else ()

    def first(self, row: Row) -> bool:
        """Return whether the sample is new, counting the copies."""
        place = [row.value.get(name) for name in self._names]
        key, content = _short(place), _short(row.value)
        known = self._seen.get(key)
        if known is None:
            self._keep(key, content)
            return True
        if known == content:
            self._notes.skipped["copies of an earlier row"] += 1
            return False
        named = ", ".join(f"{n} {v!r}" for n, v in zip(self._names, place, strict=True))
        raise DataError(
            f"row {row.number} names the same sample as an earlier row ({named}) "
            "but differs from it. Two runs in one file? Split them, or skip such rows."
        )

    def _keep(self, key: int, content: int) -> None:
        if len(self._seen) < MOST_ROWS:
            self._seen[key] = content
        else:
            self._notes.warn_once(
                f"copies of rows were looked for among the first {MOST_ROWS:,} alone."
            )


def _short(value: Any) -> int:
    text = json.dumps(value, sort_keys=True, default=str)
    return int.from_bytes(blake2b(text.encode("ascii"), digest_size=8).digest(), "big")
