"""Figures of wording of a run: kept per policy, spec and prompt, with what they were made of."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

import json
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rewardable.records import FinishReason, Texts, Wording
from rewardable.store.files import write_lock
from rewardable.store.parts import PartFolder
from rewardable.store.query import add_keys, add_rollouts, add_view, connect, fetch, stream
from rewardable.store.schema import FINISH_CODE, ROLLOUTS, WORDINGS

Ints = npt.NDArray[np.int64]
ROWS_AT_ONCE = 200_000
BYTES_AT_ONCE = 1 << 26

_PLACE = ("policy_key", "spec_key", "prompt_key")
_KEYS = ", ".join(_PLACE)
_NOW = f"""
SELECT {_KEYS}, count(*) AS n_rows, sum(attempt)::BIGINT AS n_attempts FROM rollouts
WHERE prompt_key IN (SELECT prompt_key FROM wanted) AND ($first = 0 OR "index" < $first)
GROUP BY ALL
"""
_STALE = f"""
SELECT r.* FROM ({_NOW}) r ANTI JOIN (
    SELECT * FROM wordings WHERE version = $version AND first = $first
) w USING ({_KEYS}, n_rows, n_attempts)
"""
_SIZED = f"""
SELECT s.*, b.n_bytes FROM ({_STALE}) s JOIN (
    SELECT {_KEYS}, sum(strlen(text))::BIGINT AS n_bytes FROM rollouts
    WHERE prompt_key IN (SELECT prompt_key FROM wanted) GROUP BY ALL
) b USING ({_KEYS}) ORDER BY {_KEYS}
"""
_CURRENT = """
SELECT w.*, row_number() OVER (PARTITION BY w.prompt_key) AS copy
FROM (SELECT * FROM wordings WHERE version = $version AND first = $first) w
SEMI JOIN now USING (prompt_key, n_rows, n_attempts)
WHERE w.policy_key = $policy AND w.spec_key = $spec
QUALIFY copy = 1 ORDER BY w.prompt_key
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Wordings:
    """Current figures of P prompts, sorted by key; R texts in the order of (prompt, index).

    prompt_R, index_R: whose text. repetition_R: NaN where a text is too short. steps_R, form_R,
    opening_R: as in :class:`~rewardable.records.Wording`.
    prompt_S, order_S, seen_S, number_S: counts of n-grams. total_PO: all n-grams by order.
    """

    prompt_keys: tuple[str, ...]
    prompt_R: Ints
    index_R: Ints
    repetition_R: npt.NDArray[np.float64]
    steps_R: Ints
    form_R: Ints
    opening_R: Ints
    prompt_S: Ints
    order_S: Ints
    seen_S: Ints
    number_S: Ints
    total_PO: Ints

    @property
    def n_P(self) -> Ints:  # noqa: N802
        """Texts of each prompt."""
        return np.bincount(self.prompt_R, minlength=len(self.prompt_keys)).astype(np.int64)


class WordingBook:
    """Reads and writes the figures of the run folder at ``path``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rollouts = PartFolder(path / "rollouts", ROLLOUTS)
        self._wordings = PartFolder(path / "wordings", WORDINGS)

    def n_stale(self, prompt_keys: Collection[str], version: int, first: int) -> int:
        """Return for how many (policy, spec, prompt) there are no current figures."""
        with self._views(prompt_keys) as connection:
            found = _told(connection, f"SELECT count(*) AS n FROM ({_STALE})", version, first)
            return found["n"][0].as_py()

    def stale(self, prompt_keys: Collection[str], version: int, first: int) -> Iterator[Texts]:
        """Yield the texts of these, below the index ``first`` (0: all), prompt by prompt."""
        with self._views(prompt_keys) as connection:
            stale = _told(connection, _SIZED, version, first)
            rows, sizes = stale["n_rows"].to_numpy(), stale["n_bytes"].to_numpy()
            ends = np.cumsum(rows / ROWS_AT_ONCE + sizes / BYTES_AT_ONCE).astype(np.int64)
            for chunk in np.unique(ends):
                places = np.flatnonzero(ends == chunk)
                part = stale.slice(int(places[0]), len(places))
                connection.register("chunk", part)
                yield from _texts(connection, first)
                connection.unregister("chunk")

    def add(self, wordings: Sequence[Wording]) -> None:
        """Append figures atomically."""
        if wordings:
            names = WORDINGS.names
            columns = {name: [getattr(one, name) for one in wordings] for name in names}
            with write_lock(self._path / ".lock"):
                self._wordings.write(pa.table(columns, schema=WORDINGS))

    def read(
        self, policy_key: str, spec_key: str, n_rows: Mapping[str, int], version: int, first: int
    ) -> Wordings:
        """Return the current figures of one policy and spec; prompts without any are left out.

        n_rows: prompt key -> how many rollouts the prompt has now.
        """
        if not self._wordings.names():
            return _wordings_of(WORDINGS.empty_table())
        place = {"policy": policy_key, "spec": spec_key}
        with connect() as connection:
            add_view(connection, "wordings", self._wordings)
            connection.register("now", self._now(n_rows, first, place))
            found = _told(connection, _CURRENT, version, first, **place)
        return _wordings_of(found)

    def _now(self, n_rows: Mapping[str, int], first: int, place: Mapping[str, str]) -> pa.Table:
        """Return (prompt_key, n_rows, n_attempts); rollouts are read only where that is needed."""
        if not first and not self._rollouts.retried():
            keys = pa.array(list(n_rows), pa.string())
            known = pa.array(list(n_rows.values()), pa.int64())
            never = pa.array([0] * len(n_rows), pa.int64())
            return pa.table({"prompt_key": keys, "n_rows": known, "n_attempts": never})
        sql = f"SELECT * FROM ({_NOW}) WHERE policy_key = $policy AND spec_key = $spec"
        with self._views(n_rows) as connection:
            return _told(connection, sql, 0, first, **place)

    @contextmanager
    def _views(self, prompt_keys: Collection[str]) -> Generator[duckdb.DuckDBPyConnection]:
        with connect() as connection:
            add_rollouts(connection, self._rollouts)
            add_view(connection, "wordings", self._wordings)
            add_keys(connection, "wanted", prompt_keys)
            yield connection


def _told(
    connection: duckdb.DuckDBPyConnection, sql: str, version: int, first: int, **more: object
) -> pa.Table:
    told = {"version": version, "first": first, **more}
    return fetch(connection, sql, {name: told[name] for name in told if f"${name}" in sql})


def _texts(connection: duckdb.DuckDBPyConnection, first: int) -> Iterator[Texts]:
    failed = FINISH_CODE[FinishReason.FAILED]
    sql = f"""
        SELECT {_KEYS}, c.n_rows, c.n_attempts, r."index", r.text, r.text_exact
        FROM chunk c LEFT JOIN (
            SELECT * FROM rollouts WHERE finish != {failed} AND ({first} = 0 OR "index" < {first})
        ) r USING ({_KEYS})
        ORDER BY {_KEYS}, r."index"
    """
    rows = (row for batch in stream(connection, sql) for row in _rows(batch))
    for place, found in groupby(rows, key=lambda row: row[:5]):
        policy_key, spec_key, prompt_key, n_rows, n_attempts = place
        held = [(row[5], row[6], row[7]) for row in found if row[5] is not None]
        yield Texts(
            policy_key=policy_key,
            spec_key=spec_key,
            prompt_key=prompt_key,
            n_rows=n_rows,
            n_attempts=n_attempts,
            indices=tuple(index for index, _, _ in held),
            texts=tuple(text if exact is None else json.loads(exact) for _, text, exact in held),
        )


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _wordings_of(table: pa.Table) -> Wordings:
    prompt_R, index_R = _flat(table["indices"])
    prompt_S, order_S = _flat(table["orders"])
    _, total = _flat(table["totals"])
    rows = {f"{name}_R": _flat(table[name])[1] for name in ("steps", "form", "opening")}
    size = table.num_rows
    return Wordings(
        prompt_keys=tuple(table["prompt_key"].to_pylist()),
        prompt_R=prompt_R,
        index_R=index_R.astype(np.int64),
        repetition_R=_flat(table["repetition"])[1].astype(np.float64),
        prompt_S=prompt_S,
        order_S=order_S.astype(np.int64),
        seen_S=_flat(table["seen"])[1].astype(np.int64),
        number_S=_flat(table["numbers"])[1].astype(np.int64),
        total_PO=total.astype(np.int64).reshape(size, -1) if size else np.zeros((0, 0), np.int64),
        **{name: value.astype(np.int64) for name, value in rows.items()},
    )


def _flat(column: pa.ChunkedArray) -> tuple[Ints, npt.NDArray[Any]]:
    """Return the row of every element of a column of lists, and the elements."""
    lists = column.combine_chunks()
    sizes = lists.value_lengths().to_numpy()
    return np.repeat(np.arange(len(lists)), sizes), lists.flatten().to_numpy()
