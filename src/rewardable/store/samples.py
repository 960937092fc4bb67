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
from rewardable.store.schema import OUTCOME_CODE

Floats = npt.NDArray[np.float64]
NOT_GRADED = "not graded"
"""The reason counted for rollouts that no verdict was asked for or found."""

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


def samples_sql(newest: str, *, some_prompts: bool) -> str:
    """Return the query whose table :func:`samples_of` reads."""
    wanted = " AND r.prompt_key IN (SELECT prompt_key FROM wanted)" if some_prompts else ""
    return f"""
        SELECT r.prompt_key, r."index", r.length, r.finish, r.first_entropy, r.mean_entropy,
               r.text_id, v.outcome, v.score, v.reason, v.labels
        FROM rollouts r LEFT JOIN ({newest}) v
          ON r.prompt_key = v.prompt_key AND r."index" = v."index" AND r.attempt = v.attempt
        WHERE r.policy_key = ? AND r.spec_key = ?{wanted}
        ORDER BY r.prompt_key, r."index"
    """


def samples_of(table: pa.Table, prompts: Mapping[str, Prompt]) -> Samples:
    """Build the arrays from the sorted rows of :func:`samples_sql`."""
    prompt_R, prompt_keys = _codes(table["prompt_key"])
    outcome_R = _numbers(table["outcome"], np.int8, missing=_UNGRADED)
    labels, names = _pivot(table["labels"])
    return Samples(
        prompt_keys=prompt_keys,
        prompt_R=prompt_R,
        index_R=_numbers(table["index"], np.int32),
        outcome_R=outcome_R,
        score_R=_numbers(table["score"], np.float64, missing=np.nan),
        length_R=_numbers(table["length"], np.int32),
        finish_R=_numbers(table["finish"], np.int8),
        first_entropy_R=_numbers(table["first_entropy"], np.float64, missing=np.nan),
        mean_entropy_R=_numbers(table["mean_entropy"], np.float64, missing=np.nan),
        text_R=_codes(table["text_id"])[0].astype(np.int64),
        labels=labels,
        label_names=names,
        totals=totals_of([prompts[key] for key in prompt_keys if key in prompts], prompt_keys),
        reasons=_reasons(table, outcome_R),
    )


def totals_of(prompts: Sequence[Prompt], prompt_keys: Sequence[str]) -> dict[str, Floats]:
    """Return label kind -> how many such labels exist, one number per prompt key."""
    place = {key: row for row, key in enumerate(prompt_keys)}
    totals: dict[str, Floats] = {}
    for prompt in prompts:
        known: Mapping[str, Any] = prompt.facts.get("totals") or {}
        for kind, total in known.items():
            column = totals.setdefault(kind, np.full(len(prompt_keys), np.nan))
            column[place[prompt.key]] = np.nan if total is None else total
    return totals


def _numbers(
    column: pa.ChunkedArray, dtype: type[Any], missing: float | None = None
) -> npt.NDArray[Any]:
    if missing is not None and column.null_count:
        column = column.fill_null(pa.scalar(missing, column.type))
    return column.to_numpy().astype(dtype, copy=False)


def _codes(column: pa.ChunkedArray | pa.Array) -> tuple[npt.NDArray[np.int32], tuple[Any, ...]]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    coded = column.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False), tuple(coded.dictionary.to_pylist())


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


def _reasons(table: pa.Table, outcome_R: npt.NDArray[np.int8]) -> dict[str, int]:
    chosen = table["reason"].filter(pa.array(outcome_R == _UNGRADED))
    counted = chosen.fill_null(NOT_GRADED).value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counted}
