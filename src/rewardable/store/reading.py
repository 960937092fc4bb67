"""Questions to a run's parts. No lock: a part is there whole or not at all."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from rewardable.errors import DataError
from rewardable.records import Outcome, Prompt, Rollout, RolloutId, Verdict
from rewardable.store.codec import ids_of, rollouts_of, verdict_of
from rewardable.store.counts import Counts
from rewardable.store.parts import PartFolder
from rewardable.store.query import (
    add_keys,
    add_rollouts,
    add_view,
    connect,
    fetch,
    matching_verdicts,
    newest,
    stream,
)
from rewardable.store.samples import Samples, keys_sql, rows_sql, said_sql, samples_of, totals_of
from rewardable.store.schema import FINISH_CODE, OUTCOME_CODE, FinishReason

_SAME_ROLLOUT = (
    "r.policy_key = v.policy_key AND r.spec_key = v.spec_key AND r.prompt_key = v.prompt_key "
    'AND r."index" = v."index" AND r.attempt = v.attempt'
)
_VERDICT_COLUMNS = ("outcome", "verifier", "version", "reason", "score", "parts", "labels")


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Which rollouts and which verdicts of them; None takes the newest of any."""

    policy_key: str
    spec_key: str
    verifier: str | None = None
    version: str | None = None

    def matching(self) -> tuple[str, list[object]]:
        """Return (SQL, parameters) of all matching verdicts."""
        return matching_verdicts(
            policy_key=self.policy_key,
            spec_key=self.spec_key,
            verifier=self.verifier,
            version=self.version,
        )


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Group:
    """What a run holds of one task by one policy under one spec."""

    task: str
    policy_key: str
    spec_key: str
    n_prompts: int
    n_rollouts: int
    n_counts: int
    """prompts of which only counts are known"""


def samples(
    rollouts: PartFolder,
    verdicts: PartFolder,
    selection: Selection,
    prompts: Sequence[Prompt],
    *,
    some_prompts: bool,
) -> Samples:
    """Read the arrays of a selection; ``some_prompts`` keeps to ``prompts``."""
    by_key = {prompt.key: prompt for prompt in prompts}
    arm: list[object] = [selection.policy_key, selection.spec_key]
    verdicts_sql, parameters = selection.matching()
    with _views(rollouts, verdicts) as connection:
        if some_prompts:
            add_keys(connection, "wanted", by_key)
        keys = fetch(connection, keys_sql(some_prompts=some_prompts), arm)["prompt_key"]
        places = pa.array(range(len(keys)), pa.int32())
        connection.register("places", pa.table({"prompt_key": keys, "place": places}))
        rows = fetch(connection, rows_sql(), arm)
        said = fetch(connection, said_sql(verdicts_sql), parameters)
    return samples_of(rows, said, tuple(keys.to_pylist()), by_key)


def graded(
    rollouts: PartFolder,
    verdicts: PartFolder,
    selection: Selection,
    prompt_keys: Collection[str] | None,
) -> Iterator[tuple[Rollout, Verdict | None]]:
    """Yield rollouts with their newest verdicts, by prompt and index."""
    verdicts_sql, parameters = selection.matching()
    columns = ", ".join(f"v.{name}" for name in _VERDICT_COLUMNS)
    wanted = "" if prompt_keys is None else " AND prompt_key IN (SELECT prompt_key FROM wanted)"
    sql = (
        f"SELECT r.*, {columns} "
        f"FROM (SELECT * FROM rollouts WHERE policy_key = ? AND spec_key = ?{wanted}) r "
        f"LEFT JOIN ({newest(verdicts_sql + wanted)}) v ON {_SAME_ROLLOUT} "
        'ORDER BY r.prompt_key, r."index"'
    )
    parameters = [selection.policy_key, selection.spec_key, *parameters]
    with _views(rollouts, verdicts) as connection:
        add_keys(connection, "wanted", prompt_keys or ())
        for batch in stream(connection, sql, parameters):
            said = batch.select(list(_VERDICT_COLUMNS)).to_pylist()
            yield from zip(rollouts_of(batch), map(verdict_of, said), strict=True)


def pending(
    rollouts: PartFolder,
    verdicts: PartFolder,
    verifier: str,
    version: str,
    prompt_keys: Iterable[str],
    *,
    retry_ungraded: bool,
) -> Iterator[Rollout]:
    """Yield the rollouts of these prompts that have no verdict of this verifier version."""
    with _views(rollouts, verdicts) as connection:
        add_keys(connection, "wanted", prompt_keys)
        sql = f"SELECT r.* {_pending(retry_ungraded)}"
        for batch in stream(connection, sql, [verifier, version]):
            yield from rollouts_of(batch)


def n_pending(
    rollouts: PartFolder,
    verdicts: PartFolder,
    verifier: str,
    version: str,
    prompt_keys: Iterable[str],
) -> int:
    """Return how many rollouts :func:`pending` yields."""
    with _views(rollouts, verdicts) as connection:
        add_keys(connection, "wanted", prompt_keys)
        sql = f"SELECT count(*) AS n {_pending(False)}"
        return fetch(connection, sql, [verifier, version])["n"][0].as_py()


def _pending(retry_ungraded: bool) -> str:
    ids = 'policy_key, spec_key, prompt_key, "index", attempt'
    judged = f"SELECT {ids} FROM verdicts WHERE verifier = ? AND version = ?"
    if retry_ungraded:
        ungraded = OUTCOME_CODE[Outcome.UNGRADED]
        judged += f" GROUP BY {ids} HAVING arg_max(outcome, seq) != {ungraded}"
    return (
        f"FROM rollouts r ANTI JOIN ({judged}) v ON {_SAME_ROLLOUT} "
        "WHERE r.prompt_key IN (SELECT prompt_key FROM wanted)"
    )


def failed_ids(rollouts: PartFolder, policy_key: str, spec_key: str) -> set[RolloutId]:
    """Return the ids of current rollouts whose engine failed."""
    sql = (
        'SELECT policy_key, spec_key, prompt_key, "index" FROM rollouts '
        f"WHERE finish = {FINISH_CODE[FinishReason.FAILED]} AND policy_key = ? AND spec_key = ?"
    )
    with connect() as connection:
        add_rollouts(connection, rollouts)
        batches = stream(connection, sql, [policy_key, spec_key])
        return {one for batch in batches for one in ids_of(batch)}


def provenances(rollouts: PartFolder, counts: PartFolder) -> set[tuple[str, str]]:
    """Return the (policy key, provenance) of the stored rollouts and counts."""
    columns = "policy_key, provenance"
    sql = f"SELECT {columns} FROM rollouts UNION SELECT {columns} FROM counts"
    with connect() as connection:
        add_rollouts(connection, rollouts)
        add_view(connection, "counts", counts)
        rows = fetch(connection, sql).to_pylist()
        return {(row["policy_key"], row["provenance"]) for row in rows}


def broken_texts(rollouts: PartFolder) -> int:
    """Return how many stored texts hold half a surrogate pair."""
    with connect() as connection:
        add_rollouts(connection, rollouts)
        return fetch(connection, "SELECT count(text_exact) AS n FROM rollouts")["n"][0].as_py()


def groups(rollouts: PartFolder, counts: PartFolder, prompts: PartFolder) -> list[Group]:
    """Return the size of every (task, policy, spec)."""
    sql = """
        SELECT p.task, r.policy_key, r.spec_key, count(DISTINCT r.prompt_key) AS n_prompts,
               sum(r.rows)::BIGINT AS n_rollouts, sum(r.counted)::BIGINT AS n_counts
        FROM (
            SELECT policy_key, spec_key, prompt_key, count(*) AS rows, 0 AS counted
            FROM rollouts GROUP BY ALL
            UNION ALL
            SELECT policy_key, spec_key, prompt_key, 0, count(*) FROM counts GROUP BY ALL
        ) r JOIN prompts p ON p.prompt_key = r.prompt_key
        GROUP BY ALL ORDER BY ALL
    """
    with connect() as connection:
        add_rollouts(connection, rollouts)
        add_view(connection, "counts", counts)
        add_view(connection, "prompts", prompts)
        return [Group(**row) for row in fetch(connection, sql).to_pylist()]


def require_prompts(rollouts: PartFolder, counts: PartFolder, prompts: PartFolder) -> None:
    """Raise DataError when stored rows are about prompts that no sound part holds."""
    sql = """
        SELECT count(DISTINCT r.prompt_key) AS n
        FROM (SELECT prompt_key FROM rollouts UNION ALL SELECT prompt_key FROM counts) r
        ANTI JOIN prompts p ON p.prompt_key = r.prompt_key
    """
    with connect() as connection:
        add_rollouts(connection, rollouts)
        add_view(connection, "counts", counts)
        add_view(connection, "prompts", prompts)
        n = fetch(connection, sql)["n"][0].as_py()
    if n:
        torn = prompts.torn()
        why = f"damaged parts: {', '.join(torn)}" if torn else "a part is missing"
        raise DataError(
            f"{prompts.path} lacks {n} prompts of stored rollouts or counts ({why}). Restore the "
            "part from a copy, or sample again to go on, which writes the prompts anew; imported "
            "dumps must be imported into a new run folder."
        )


def require_new_counts(counts: PartFolder, table: pa.Table) -> None:
    """Raise DataError when a (policy, spec, prompt) is given twice or has counts already."""
    columns = ["policy_key", "spec_key", "prompt_key"]
    with connect() as connection:
        add_view(connection, "counts", counts)
        stored = fetch(connection, f"SELECT {', '.join(columns)} FROM counts").to_pylist()
    taken = {tuple(row.values()) for row in stored}
    for row in table.select(columns).to_pylist():
        place = tuple(row.values())
        if place in taken:
            raise DataError(
                f"prompt {row['prompt_key']} has counts of policy {row['policy_key']} already "
                f"(spec {row['spec_key']}); counts are not added up. Use another run or policy."
            )
        taken.add(place)


def counts(folder: PartFolder, policy_key: str, spec_key: str, prompts: Sequence[Prompt]) -> Counts:
    """Read the counts of these prompts."""
    with connect() as connection:
        add_view(connection, "counts", folder)
        add_keys(connection, "wanted", [prompt.key for prompt in prompts])
        sql = (
            "SELECT prompt_key, n, c FROM counts WHERE policy_key = ? AND spec_key = ? AND "
            "prompt_key IN (SELECT prompt_key FROM wanted) ORDER BY prompt_key"
        )
        table = fetch(connection, sql, [policy_key, spec_key])
    keys = tuple(table["prompt_key"].to_pylist())
    return Counts(
        prompt_keys=keys,
        n_P=table["n"].to_numpy().astype(np.int64),
        c_P=table["c"].to_numpy().astype(np.int64),
        totals=totals_of({prompt.key: prompt for prompt in prompts}, keys),
    )


def _views(rollouts: PartFolder, verdicts: PartFolder) -> duckdb.DuckDBPyConnection:
    connection = connect()
    add_rollouts(connection, rollouts)
    add_view(connection, "verdicts", verdicts)
    return connection
