"""Which rollouts a run holds, in memory, kept up to date with what other writers add."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rewardable.errors import DataError
from rewardable.records import RolloutId
from rewardable.store.codec import describe
from rewardable.store.parts import PartFolder
from rewardable.store.query import ID, add_files, connect, fetch

Group = tuple[str, str]
"""(policy key, spec key)."""


class RolloutIndex:
    """Stored indices by group and prompt, and how often a failed row was tried again."""

    def __init__(self, folder: PartFolder) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self._indices: dict[Group, dict[str, set[int]]] = defaultdict(_no_prompts)
        self.attempts: dict[RolloutId, int] = {}

    def refresh(self) -> None:
        """Read the parts that were added since the last call."""
        fresh = [name for name in self._folder.names() if name not in self._seen]
        if fresh:
            self._read(fresh)
            self._seen.update(fresh)

    def note_part(self, name: str) -> None:
        """Say that the rows of this part were added one by one."""
        self._seen.add(name)

    def add(self, ids: Iterable[RolloutId]) -> None:
        """Add rows that were just written."""
        for one in ids:
            self._indices[one.policy_key, one.spec_key][one.prompt_key].add(one.index)

    def indices(self, policy_key: str, spec_key: str) -> dict[str, set[int]]:
        """Return prompt key -> stored indices of a group."""
        return self._indices.get((policy_key, spec_key), {})

    def __contains__(self, one: RolloutId) -> bool:
        group = self.indices(one.policy_key, one.spec_key)
        return one.index in group.get(one.prompt_key, ())

    def require_new(self, ids: Sequence[RolloutId]) -> None:
        """Raise DataError when an id is stored already or given twice."""
        given: set[RolloutId] = set()
        for one in ids:
            if one in self:
                raise DataError(
                    f"{describe(one)} is already stored; nothing was written. Is another process "
                    "sampling into this run?"
                )
            if one in given:
                raise DataError(f"{describe(one)} was given twice; nothing was written.")
            given.add(one)

    def require_stored(self, ids: Iterable[RolloutId]) -> None:
        """Raise DataError when an id is not stored."""
        missing = next((one for one in ids if one not in self), None)
        if missing is not None:
            raise DataError(f"{describe(missing)} is not stored; add the rollout first.")

    def _read(self, names: Sequence[str]) -> None:
        paths = [str(self._folder.path / name) for name in names]
        with connect() as connection:
            add_files(connection, "fresh", paths, self._folder.schema)
            sql = (
                'SELECT policy_key, spec_key, prompt_key, list("index") AS indices FROM fresh '
                "GROUP BY policy_key, spec_key, prompt_key"
            )
            for policy, spec, prompt, indices in _rows(fetch(connection, sql)):
                self._indices[policy, spec][prompt].update(indices)
            retried = [path for path in paths if Path(path).name.startswith("retry-")]
            if retried:
                add_files(connection, "retried", retried, self._folder.schema)
                sql = f"SELECT {ID}, max(attempt) FROM retried GROUP BY {ID}"
                self._note_attempts(fetch(connection, sql))

    def _note_attempts(self, table: pa.Table) -> None:
        for policy, spec, prompt, index, attempt in _rows(table):
            one = RolloutId(policy_key=policy, spec_key=spec, prompt_key=prompt, index=index)
            self.attempts[one] = max(attempt, self.attempts.get(one, 0))


def _no_prompts() -> dict[str, set[int]]:
    return defaultdict(set)


def _rows(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return zip(*columns, strict=True)
