"""Columns of the Parquet parts, with the version they carry."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

import pyarrow as pa

from rewardable.records import FORMAT_VERSION, FinishReason, Outcome

FINISH_CODE = {
    FinishReason.STOP: 0,
    FinishReason.LENGTH: 1,
    FinishReason.FAILED: 2,
    FinishReason.UNKNOWN: 3,
}
OUTCOME_CODE = {Outcome.CORRECT: 1, Outcome.WRONG: 0, Outcome.UNGRADED: -1}
FINISH_OF = {code: reason for reason, code in FINISH_CODE.items()}
OUTCOME_OF = {code: outcome for outcome, code in OUTCOME_CODE.items()}

TOKEN_FIELDS = ("logprobs", "sampling_logprobs", "entropies")


def _schema(kind: str, fields: list[pa.Field]) -> pa.Schema:
    labels = {"rewardable.kind": kind, "rewardable.version": str(FORMAT_VERSION)}
    return pa.schema(fields, metadata=labels)


def _column(name: str, kind: pa.DataType, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable)


_ID = [
    _column("policy_key", pa.string()),
    _column("spec_key", pa.string()),
    _column("prompt_key", pa.string()),
    _column("index", pa.int32()),
    _column("attempt", pa.int16()),
]

ROLLOUTS = _schema(
    "rollouts",
    [
        *_ID,
        _column("text", pa.large_string()),
        _column("text_exact", pa.large_string(), nullable=True),
        _column("text_id", pa.binary(16)),
        _column("token_ids", pa.list_(pa.int32())),
        *(_column(name, pa.list_(pa.float64())) for name in TOKEN_FIELDS),
        _column("finish", pa.int8()),
        _column("failure", pa.string()),
        _column("provenance", pa.string()),
        _column("length", pa.int32()),
        _column("first_entropy", pa.float64(), nullable=True),
        _column("mean_entropy", pa.float64(), nullable=True),
    ],
)
"""``text`` is valid UTF-8; where that cost anything, ``text_exact`` holds the text as ASCII JSON.

``text_id`` is a 128-bit digest of the exact text. ``length`` is in tokens, -1 where unknown.
"""

VERDICTS = _schema(
    "verdicts",
    [
        *_ID,
        _column("verifier", pa.string()),
        _column("version", pa.string()),
        _column("seq", pa.int64()),
        _column("outcome", pa.int8()),
        _column("reason", pa.string()),
        _column("score", pa.float64(), nullable=True),
        _column("parts", pa.map_(pa.string(), pa.float64())),
        _column("labels", pa.map_(pa.string(), pa.string())),
    ],
)
"""``seq`` grows with every row ever written to the run: the newest verdict has the largest."""

PROMPTS = _schema(
    "prompts",
    [
        _column("prompt_key", pa.string()),
        _column("task", pa.string()),
        _column("content", pa.large_string()),
    ],
)
"""``content`` is the whole prompt as ASCII JSON."""

COUNTS = _schema(
    "counts",
    [
        _column("policy_key", pa.string()),
        _column("spec_key", pa.string()),
        _column("prompt_key", pa.string()),
        _column("n", pa.int64()),
        _column("c", pa.int64()),
        _column("provenance", pa.string()),
    ],
)
"""Imported counts: ``c`` successes among ``n`` graded samples of a prompt."""

WORDINGS = _schema(
    "wordings",
    [
        _column("policy_key", pa.string()),
        _column("spec_key", pa.string()),
        _column("prompt_key", pa.string()),
        _column("version", pa.int16()),
        _column("first", pa.int32()),
        _column("n_rows", pa.int64()),
        _column("n_attempts", pa.int64()),
        _column("indices", pa.list_(pa.int32())),
        _column("repetition", pa.list_(pa.float64())),
        _column("steps", pa.list_(pa.int32())),
        _column("form", pa.list_(pa.int64())),
        _column("opening", pa.list_(pa.int64())),
        _column("orders", pa.list_(pa.int32())),
        _column("seen", pa.list_(pa.int32())),
        _column("numbers", pa.list_(pa.int64())),
        _column("totals", pa.list_(pa.int64())),
    ],
)
"""Figures of the texts of a (policy, spec, prompt); current while its rows are ``n_rows`` in number
and were drawn again ``n_attempts`` times in all. Both only grow, so no older row can match later.
"""

SPLIT_COLUMNS = [f"{name}.list.element" for name in TOKEN_FIELDS]
"""Written byte by byte, so that 64-bit columns of 32-bit numbers compress to half."""
