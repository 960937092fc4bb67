"""Records to Arrow tables and back, without loss."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rewardable.errors import DataError
from rewardable.records import Completion, Graded, Rollout, RolloutId, Verdict
from rewardable.store.schema import (
    FINISH_CODE,
    FINISH_OF,
    OUTCOME_CODE,
    OUTCOME_OF,
    ROLLOUTS,
    TOKEN_FIELDS,
    VERDICTS,
)

Attempts = Mapping[RolloutId, int]

_INT32 = 2**31


def safe(text: str) -> str:
    r"""Return ``text`` with half surrogate pairs written out as ``\udXXX``."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def rollouts_to_table(rollouts: Sequence[Rollout], attempts: Attempts) -> pa.Table:
    """Encode rollouts; DataError names the first row that cannot be stored."""
    done = [rollout.completion for rollout in rollouts]
    entropies = [completion.entropies for completion in done]
    columns = {
        **_id_columns([rollout.id for rollout in rollouts], attempts),
        **_text_columns([completion.text for completion in done]),
        "token_ids": _list_column([completion.token_ids for completion in done], np.int32),
        "logprobs": _list_column([completion.logprobs for completion in done], np.float64),
        "sampling_logprobs": _list_column([row.sampling_logprobs for row in done], np.float64),
        "entropies": _list_column(entropies, np.float64),
        "finish": [FINISH_CODE[completion.finish_reason] for completion in done],
        "failure": [safe(completion.failure) for completion in done],
        "provenance": [safe(rollout.provenance) for rollout in rollouts],
        "length": [len(completion.token_ids) or -1 for completion in done],
        "first_entropy": [row[0] if row else None for row in entropies],
        "mean_entropy": [sum(row) / len(row) if row else None for row in entropies],
    }
    _check_tokens(rollouts, columns)
    return pa.table(columns, schema=ROLLOUTS)


def verdicts_to_table(verdicts: Sequence[Graded], attempts: Attempts, first_seq: int) -> pa.Table:
    """Encode verdicts, numbered from ``first_seq``; DataError for a part that is not finite."""
    said = [graded.verdict for graded in verdicts]
    columns = {
        **_id_columns([graded.id for graded in verdicts], attempts),
        "verifier": [safe(verdict.verifier) for verdict in said],
        "version": [safe(verdict.version) for verdict in said],
        "seq": np.arange(first_seq, first_seq + len(said)),
        "outcome": [OUTCOME_CODE[verdict.outcome] for verdict in said],
        "reason": [safe(verdict.reason) for verdict in said],
        "score": [verdict.score for verdict in said],
        "parts": [_finite_parts(graded) for graded in verdicts],
        "labels": [_safe_labels(verdict.labels) for verdict in said],
    }
    return pa.table(columns, schema=VERDICTS)


def rollouts_of(batch: pa.RecordBatch) -> Iterator[Rollout]:
    """Decode the rollouts of a batch that has all the columns of ``ROLLOUTS``."""
    lists = [_lists(batch.column(name)) for name in ("token_ids", *TOKEN_FIELDS)]
    plain = [batch.column(name).to_pylist() for name in ("finish", "failure", "provenance")]
    texts = map(_exact, batch.column("text").to_pylist(), batch.column("text_exact").to_pylist())
    for row_id, text, tokens, raw, sampled, entropies, finish, failure, provenance in zip(
        ids_of(batch), texts, *lists, *plain, strict=True
    ):
        completion = Completion(
            text=text,
            token_ids=tokens,
            logprobs=raw,
            sampling_logprobs=sampled,
            entropies=entropies,
            finish_reason=FINISH_OF[finish],
            failure=failure,
        )
        yield Rollout(id=row_id, completion=completion, provenance=provenance)


def ids_of(batch: pa.RecordBatch) -> Iterator[RolloutId]:
    """Decode the ids of a batch."""
    names = ("policy_key", "spec_key", "prompt_key", "index")
    columns = (batch.column(name).to_pylist() for name in names)
    for policy, spec, prompt, index in zip(*columns, strict=True):
        yield RolloutId(policy_key=policy, spec_key=spec, prompt_key=prompt, index=index)


def verdict_of(row: Mapping[str, Any]) -> Verdict | None:
    """Decode the verdict columns of one row, or None where the row has no verdict."""
    if row["outcome"] is None:
        return None
    return Verdict(
        outcome=OUTCOME_OF[row["outcome"]],
        verifier=row["verifier"],
        version=row["version"],
        reason=row["reason"],
        score=row["score"],
        parts=dict(row["parts"]),
        labels=dict(row["labels"]),
    )


def _exact(text: str, exact: str | None) -> str:
    return text if exact is None else json.loads(exact)


def _id_columns(ids: Sequence[RolloutId], attempts: Attempts) -> dict[str, Any]:
    bad = next((one for one in ids if not 0 <= one.index < _INT32), None)
    if bad is not None:
        raise DataError(f"index of {describe(bad)} must lie in 0..2^31-1.")
    return {
        "policy_key": [one.policy_key for one in ids],
        "spec_key": [one.spec_key for one in ids],
        "prompt_key": [one.prompt_key for one in ids],
        "index": [one.index for one in ids],
        "attempt": [attempts.get(one, 0) for one in ids] if attempts else np.zeros(len(ids), "i2"),
    }


def describe(one: RolloutId) -> str:
    """Name a rollout in a message."""
    return (
        f"rollout {one.index} of prompt {one.prompt_key} (policy {one.policy_key}, "
        f"spec {one.spec_key})"
    )


def _text_columns(texts: Sequence[str]) -> dict[str, Any]:
    shown: list[str] = []
    exact: list[str | None] = []
    digests: list[bytes] = []
    for text in texts:
        try:
            coded = text.encode("utf-8")
        except UnicodeEncodeError:
            coded = text.encode("utf-8", "surrogatepass")
            shown.append(safe(text))
            exact.append(json.dumps(text))
        else:
            shown.append(text)
            exact.append(None)
        digests.append(blake2b(coded, digest_size=16).digest())
    return {"text": shown, "text_exact": exact, "text_id": digests}


def _list_column(rows: Sequence[Sequence[Any]], dtype: type[np.generic]) -> pa.Array:
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    try:
        flat = np.fromiter(chain.from_iterable(rows), dtype, count=int(offsets[-1]))
    except (OverflowError, ValueError, TypeError) as error:
        raise DataError(f"token fields must hold {dtype.__name__} numbers: {error}.") from error
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def _lists(column: pa.Array) -> Iterator[tuple[Any, ...]]:
    offsets = column.offsets.to_pylist()
    first = offsets[0]
    values = column.flatten().to_pylist()
    for start, stop in pairwise(offsets):
        yield tuple(values[start - first : stop - first])


def _check_tokens(rollouts: Sequence[Rollout], columns: Mapping[str, Any]) -> None:
    counts = np.diff(columns["token_ids"].offsets.to_numpy())
    for name in TOKEN_FIELDS:
        column = columns[name]
        lengths = np.diff(column.offsets.to_numpy())
        wrong = np.flatnonzero((lengths != 0) & (lengths != counts))
        if wrong.size:
            row = int(wrong[0])
            raise DataError(
                f"{describe(rollouts[row].id)}: {lengths[row]} {name} for {counts[row]} token "
                "ids; give one per id, or none."
            )
        _check_numbers(rollouts, name, column)


def _check_numbers(rollouts: Sequence[Rollout], name: str, column: pa.ListArray) -> None:
    values = column.values.to_numpy()
    bad = np.flatnonzero(np.isnan(values) | (values == np.inf))
    if bad.size:
        row = int(np.searchsorted(column.offsets.to_numpy(), bad[0], side="right")) - 1
        raise DataError(
            f"{describe(rollouts[row].id)}: {name} hold {values[bad[0]]}; leave the field empty "
            "where a number is unknown."
        )


def _finite_parts(graded: Graded) -> list[tuple[str, float | None]]:
    parts = graded.verdict.parts
    for name, value in parts.items():
        if value is not None and not np.isfinite(value):
            raise DataError(
                f"{describe(graded.id)}: part {name!r} of {graded.verdict.verifier} is {value!r}; "
                "use None for a part that is ungraded."
            )
    return [(safe(name), value) for name, value in parts.items()]


def _safe_labels(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(safe(kind), safe(value)) for kind, value in labels.items()]


def count_broken(texts: Iterable[str]) -> int:
    """Return how many texts hold half a surrogate pair."""
    return sum(not text.isascii() and safe(text) != text for text in texts)
