"""DuckDB over the parts: current rollouts, newest verdicts."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from rewardable.errors import BoundaryError
from rewardable.store.parts import PartFolder

ID = 'policy_key, spec_key, prompt_key, "index"'
_SETTINGS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}

_CURRENT = f"""
CREATE TEMP VIEW rollouts AS
SELECT r.* FROM stored r LEFT JOIN (
    SELECT {ID}, max(attempt) AS newest FROM retried GROUP BY ALL
) t USING ({ID})
WHERE r.attempt = coalesce(t.newest, 0)
"""


def connect() -> duckdb.DuckDBPyConnection:
    """Open a database in memory that reaches for nothing outside."""
    connection = duckdb.connect(config=dict(_SETTINGS))
    connection.execute("SET enable_progress_bar = false")
    return connection


def add_view(connection: duckdb.DuckDBPyConnection, name: str, folder: PartFolder) -> None:
    """Name the rows of a folder's parts."""
    add_files(connection, name, folder.files(), folder.schema)


def add_files(
    connection: duckdb.DuckDBPyConnection, name: str, files: Sequence[str], schema: pa.Schema
) -> None:
    """Name the rows of some parts; no parts make an empty view."""
    if files:
        connection.read_parquet(list(files)).create_view(name)
    else:
        connection.register(name, schema.empty_table())


def add_rollouts(connection: duckdb.DuckDBPyConnection, folder: PartFolder) -> None:
    """Name ``rollouts``: the stored rows without those that a retry replaced."""
    files = folder.files()
    retries = [path for path in files if Path(path).name.startswith("retry-")]
    add_files(connection, "stored" if retries else "rollouts", files, folder.schema)
    if retries:
        add_files(connection, "retried", retries, folder.schema)
        connection.execute(_CURRENT)


def add_keys(connection: duckdb.DuckDBPyConnection, name: str, keys: Iterable[str]) -> None:
    """Name a one-column table of prompt keys."""
    table = pa.table({"prompt_key": pa.array(sorted(set(keys)), pa.string())})
    connection.register(name, table)


def fetch(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: Sequence[object] | Mapping[str, object] = (),
) -> pa.Table:
    """Run a query, its parameters in order or by name, and return all of its rows."""
    told = dict(parameters) if isinstance(parameters, Mapping) else list(parameters)
    try:
        return connection.sql(sql, params=told).to_arrow_table()
    except duckdb.Error as error:
        raise BoundaryError("store", _first_line(error)) from error


def stream(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Sequence[object] = ()
) -> Iterable[pa.RecordBatch]:
    """Run a query and yield its rows in batches of bounded size."""
    try:
        relation = connection.sql(sql, params=list(parameters))
        yield from relation.to_arrow_reader(4096)
    except duckdb.Error as error:
        raise BoundaryError("store", _first_line(error)) from error


def matching_verdicts(
    *, policy_key: str, spec_key: str, verifier: str | None, version: str | None
) -> tuple[str, list[object]]:
    """Return (SQL, parameters): the verdicts of one policy and spec that match, of any age.

    The SQL ends in a condition, which `` AND ...`` may follow.
    """
    asked = {"verifier": verifier, "version": version}
    given = {name: value for name, value in asked.items() if value is not None}
    where = "".join(f" AND {name} = ?" for name in given)
    sql = f"SELECT * FROM verdicts WHERE policy_key = ? AND spec_key = ?{where}"
    return sql, [policy_key, spec_key, *given.values()]


def newest(verdicts: str) -> str:
    """Keep one row per rollout of a query made from :func:`matching_verdicts`, the newest."""
    return f'{verdicts} QUALIFY seq = max(seq) OVER (PARTITION BY prompt_key, "index", attempt)'


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
