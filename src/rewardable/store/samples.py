"""Graded rollouts of one policy as aligned arrays. Suffixes: R rollouts, P prompts."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rewardable.records import Outcome, Prompt
from rewardable.store.parted import Parts
from rewardable.store.schema import OUTCOME_CODE

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
NOT_GRADED = "not graded"
"""The reason counted for rollouts that no verdict was asked for or found."""

_WANTED = " AND prompt_key IN (SELECT prompt_key FROM wanted)"
_ROW_COLUMNS = ("length", "finish", "first_entropy", "mean_entropy", "text_id")
_VERDICT_COLUMNS = ("outcome", "score", "reason", "parts", "labels")
_CORRECT, _UNGRADED = OUTCOME_CODE[Outcome.CORRECT], OUTCOME_CODE[Outcome.UNGRADED]


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """R rollouts of one policy under one spec, sorted by (prompt key, index), and P prompts.

    prompt_keys: sorted; prompts without a rollout are left out.
    prompt_R: position in ``prompt_keys``. index_R: the rollout's index.
    outcome_R: 1 correct, 0 wrong, -1 ungraded. score_R: in [0, 1], NaN where none.
    length_R: tokens, -1 unknown. finish_R: 0 stop, 1 length, 2 failed, 3 unknown.
    first_entropy_R, mean_entropy_R: nats, NaN unknown. text_R: equal iff the texts are equal.
    labels: kind -> codes into ``label_names[kind]``, -1 where the rollout has no such label.
    totals: kind -> how many labels exist per prompt, NaN unknown.
    parts: name -> value of a verdict's part, NaN where the rollout has none; laid out when asked.
    reasons: reason -> number of ungraded rollouts.
    """

    prompt_keys: tuple[str, ...]
    prompt_R: npt.NDArray[np.int32]
    index_R: npt.NDArray[np.int32]
    outcome_R: npt.NDArray[np.int8]
    score_R: Floats
    length_R: npt.NDArray[np.int32]
    finish_R: npt.NDArray[np.int8]
    first_entropy_R: Floats
    mean_entropy_R: Floats
    text_R: npt.NDArray[np.int64]
    labels: Mapping[str, npt.NDArray[np.int32]] = field(default_factory=dict)
    label_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    totals: Mapping[str, Floats] = field(default_factory=dict)
    parts: Mapping[str, Floats] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_P(self) -> npt.NDArray[np.int64]:  # noqa: N802
        """Graded rollouts per prompt."""
        return self._count(self.outcome_R != _UNGRADED)

    @property
    def c_P(self) -> npt.NDArray[np.int64]:  # noqa: N802
        """Correct rollouts per prompt."""
        return self._count(self.outcome_R == _CORRECT)

    def _count(self, chosen_R: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        return np.bincount(self.prompt_R[chosen_R], minlength=len(self.prompt_keys))


def keys_sql(*, some_prompts: bool) -> str:
    """Return the query for the sorted keys of the prompts that have rollouts."""
    return (
        "SELECT DISTINCT prompt_key FROM rollouts WHERE policy_key = ? AND spec_key = ?"
        f"{_WANTED if some_prompts else ''} ORDER BY prompt_key"
    )


def rows_sql() -> str:
    """Return the query for the rollouts of the prompts in ``places`` (prompt_key, place)."""
    columns = ", ".join(f"r.{name}" for name in _ROW_COLUMNS)
    return (
        f'SELECT p.place, r."index", r.attempt, {columns} '
        "FROM rollouts r JOIN places p ON p.prompt_key = r.prompt_key "
        "WHERE r.policy_key = ? AND r.spec_key = ?"
    )


def said_sql(verdicts: str) -> str:
    """Return the query for all verdicts of the prompts in ``places``, oldest or newest."""
    columns = ", ".join(f"v.{name}" for name in _VERDICT_COLUMNS)
    return (
        f'SELECT p.place, v."index", v.attempt, v.seq, {columns} '
        f"FROM ({verdicts}) v JOIN places p ON p.prompt_key = v.prompt_key"
    )


def samples_of(
    rows: pa.Table, said: pa.Table, prompt_keys: tuple[str, ...], prompts: Mapping[str, Prompt]
) -> Samples:
    """Build the arrays from the rows of :func:`rows_sql` and :func:`said_sql`, in any order."""
    rows, verdict_R = _aligned(rows, said)
    outcome_R = _said(said["outcome"], verdict_R, np.int8, missing=_UNGRADED)
    labels, names = _labels(said["labels"], verdict_R)
    return Samples(
        prompt_keys=prompt_keys,
        prompt_R=_numbers(rows["place"], np.int32),
        index_R=_numbers(rows["index"], np.int32),
        outcome_R=outcome_R,
        score_R=_said(said["score"], verdict_R, np.float64, missing=np.nan),
        length_R=_numbers(rows["length"], np.int32),
        finish_R=_numbers(rows["finish"], np.int8),
        first_entropy_R=_numbers(rows["first_entropy"], np.float64, missing=np.nan),
        mean_entropy_R=_numbers(rows["mean_entropy"], np.float64, missing=np.nan),
        text_R=_coded(rows["text_id"])[0].astype(np.int64),
        labels=labels,
        label_names=names,
        totals=totals_of(prompts, prompt_keys),
        parts=Parts(said["parts"], verdict_R),
        reasons=_reasons(said["reason"], verdict_R[outcome_R == _UNGRADED]),
    )


def _aligned(rows: pa.Table, said: pa.Table) -> tuple[pa.Table, Rows]:
    """Sort rollouts by (place, index); find the row of each one's newest verdict, -1 if none."""
    if not rows.num_rows:
        return rows, np.zeros(0, dtype=np.int64)
    id_R, id_V = _ids(rows), _ids(said)
    if not (id_R[1:] > id_R[:-1]).all():
        order_R = np.argsort(id_R, kind="stable")
        rows, id_R = rows.take(pa.array(order_R)), id_R[order_R]
    attempt_R, attempt_V = (_numbers(table["attempt"], np.int64) for table in (rows, said))
    place_V = np.minimum(np.searchsorted(id_R, id_V), id_R.size - 1)
    current_V = (id_R[place_V] == id_V) & (attempt_R[place_V] == attempt_V)
    oldest_first = np.argsort(_numbers(said["seq"], np.int64), kind="stable")
    chosen = oldest_first[current_V[oldest_first]]
    verdict_R = np.full(id_R.size, -1, dtype=np.int64)
    verdict_R[place_V[chosen]] = chosen  # of repeated places the last, the newest, stays
    return rows, verdict_R


def _ids(table: pa.Table) -> Rows:
    place, index = (_numbers(table[name], np.int64) for name in ("place", "index"))
    return (place << 32) | index


def _picked(values_V: npt.NDArray[Any], verdict_R: Rows, missing: float) -> npt.NDArray[Any]:
    """Return the value of each rollout's verdict; ``missing`` where it has none."""
    if not values_V.size:
        return np.full(verdict_R.size, missing, dtype=values_V.dtype)
    return np.where(verdict_R < 0, np.array(missing, dtype=values_V.dtype), values_V[verdict_R])


def _said(
    column: pa.ChunkedArray, verdict_R: Rows, dtype: type[Any], missing: float
) -> npt.NDArray[Any]:
    return _picked(_numbers(column, dtype, missing=missing), verdict_R, missing)


def totals_of(prompts: Mapping[str, Prompt], prompt_keys: Sequence[str]) -> dict[str, Floats]:
    """Return label kind -> how many such labels exist, one number per prompt key."""
    totals: dict[str, Floats] = {}
    for place, key in enumerate(prompt_keys):
        prompt = prompts.get(key)
        known: Mapping[str, Any] = (prompt.facts.get("totals") or {}) if prompt else {}
        for kind, total in known.items():
            column = totals.setdefault(kind, np.full(len(prompt_keys), np.nan))
            column[place] = np.nan if total is None else total
    return totals


def _numbers(
    column: pa.ChunkedArray, dtype: type[Any], missing: float | None = None
) -> npt.NDArray[Any]:
    if missing is not None and column.null_count:
        column = column.fill_null(pa.scalar(missing, column.type))
    return column.to_numpy().astype(dtype, copy=False)


def _codes(column: pa.ChunkedArray | pa.Array) -> tuple[npt.NDArray[np.int32], tuple[Any, ...]]:
    codes, names = _coded(column)
    return codes, tuple(names.to_pylist())


def _coded(column: pa.ChunkedArray | pa.Array) -> tuple[npt.NDArray[np.int32], pa.Array]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    coded = column.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False), coded.dictionary


def _labels(
    column: pa.ChunkedArray, verdict_R: Rows
) -> tuple[dict[str, npt.NDArray[np.int32]], dict[str, tuple[str, ...]]]:
    """Return the codes of each kind among the rollouts, numbered as they first occur."""
    codes, names = _pivot(column)
    labels: dict[str, npt.NDArray[np.int32]] = {}
    kept: dict[str, tuple[str, ...]] = {}
    for kind, code_V in codes.items():
        code_R = _picked(code_V, verdict_R, -1)
        used = np.flatnonzero(code_R >= 0)[::-1]
        first = np.full(len(names[kind]), code_R.size)
        first[code_R[used]] = used  # of repeated codes the last, the first rollout, stays
        order = np.argsort(first)[: int((first < code_R.size).sum())]
        number = np.full(first.size + 1, -1, dtype=np.int32)
        number[order] = np.arange(order.size)
        if order.size:
            labels[kind] = number[code_R]
            kept[kind] = tuple(names[kind][code] for code in order.tolist())
    return labels, kept


def _pivot(
    column: pa.ChunkedArray,
) -> tuple[dict[str, npt.NDArray[np.int32]], dict[str, tuple[str, ...]]]:
    labels = column.combine_chunks()
    lists = _as_lists(labels)
    counts = lists.value_lengths().fill_null(0).to_numpy()
    row_L = np.repeat(np.arange(len(labels), dtype=np.int64), counts)
    flat = lists.flatten()
    kind_L, kinds = _codes(flat.field(0))
    codes: dict[str, npt.NDArray[np.int32]] = {}
    names: dict[str, tuple[str, ...]] = {}
    for code, kind in sorted(enumerate(kinds), key=lambda pair: pair[1]):
        chosen_L = np.flatnonzero(kind_L == code)
        value_L, names[kind] = _codes(flat.field(1).take(pa.array(chosen_L)))
        codes[kind] = np.full(len(labels), -1, np.int32)
        codes[kind][row_L[chosen_L]] = value_L
    return codes, names


def _as_lists(labels: pa.MapArray) -> pa.ListArray:
    entry = pa.struct([("key", pa.string()), ("value", pa.string())])
    return labels.cast(pa.list_(entry))


def _reasons(column: pa.ChunkedArray, verdict_U: Rows) -> dict[str, int]:
    """Count the reasons of the ungraded rollouts, whose verdicts are in these rows (-1: none)."""
    judged_U = verdict_U[verdict_U >= 0]
    counted = column.take(pa.array(judged_U)).value_counts().to_pylist()
    found: dict[str, int] = {row["values"]: row["counts"] for row in counted}
    missing = verdict_U.size - judged_U.size
    return found | ({NOT_GRADED: missing + found.get(NOT_GRADED, 0)} if missing else {})
