"""The completions of one row: one, or a list with its scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardable.errors import DataError
from rewardable.importers.fieldmap import Columns
from rewardable.importers.prompts import finite, turns_of
from rewardable.importers.sources import Row
from rewardable.records import Completion, FinishReason

_FINISH = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "completed": FinishReason.STOP,
    "tool_calls": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "max_length": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "truncated": FinishReason.LENGTH,
    "error": FinishReason.FAILED,
    "abort": FinishReason.FAILED,
    "aborted": FinishReason.FAILED,
    "failed": FinishReason.FAILED,
}
_TRUNCATED = {True: FinishReason.LENGTH, False: FinishReason.STOP}
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One completion with its raw score; ``many`` says that its row holds a list."""

    completion: Completion
    score: Any
    labels: Mapping[str, str] = field(default_factory=dict)
    many: bool = False
    position: int = 0
    odd_finish: str = ""
    """a finish reason that is in no table"""


def samples_of(row: Row, columns: Columns, labels: Sequence[str], source: str) -> Iterator[Sample]:
    """Yield the samples of a row; DataError names the row when its lists do not match."""
    where = f"{source} row {row.number}"
    value = columns.get("completion", row.number, row.value)
    many = isinstance(value, list) and turns_of(value) is None
    contents: list[Any] = value if many else [value]
    targets = ["score", "finish_reason", "error"]
    targets += [f"label.{name}" for name in labels]
    spread = {
        target: _spread(columns.get(target, row.number, row.value), len(contents), many)
        for target in targets
    }
    for target, values in spread.items():
        if len(values) != len(contents):
            raise DataError(
                f"{where}: {len(contents)} completions, but {len(values)} values of {target}."
            )
    for position, content in enumerate(contents):
        mine = {target: values[position] for target, values in spread.items()}
        finish, odd = _finish(mine["finish_reason"])
        yield Sample(
            completion=_completion(content, finish, mine["error"], where),
            score=mine["score"],
            labels=_labels(mine, labels),
            many=many,
            position=position,
            odd_finish=odd,
        )


def _spread(value: Any, length: int, many: bool) -> list[Any]:
    """Return one value a completion: a list as it is, nothing as nothing for each."""
    if not many:
        return [value]
    if value is None:
        return [None] * length
    return value if isinstance(value, list) else [value]


def _completion(content: Any, finish: FinishReason, error: Any, where: str) -> Completion:
    text = _text(content, where)
    failure = "" if _empty(error) or error is False else str(error)
    if finish is FinishReason.FAILED and not failure:
        failure = "failed in the source"
    if text is None and not failure:
        failure = "no completion in the source"
    if failure:
        return Completion(text=text or "", finish_reason=FinishReason.FAILED, failure=failure)
    return Completion(text=text or "", finish_reason=finish)


def _text(content: Any, where: str) -> str | None:
    if isinstance(content, str | None):
        return content
    turns = turns_of(content)
    if turns is None:
        raise DataError(
            f"{where}: the completion is {str(content)[:80]!r}, expected a text, messages, or a "
            "list of them."
        )
    return "\n\n".join(text for _, text in turns)


def _finish(value: Any) -> tuple[FinishReason, str]:
    """Read a finish reason, or a flag that says whether the completion was truncated."""
    if isinstance(value, str):
        word = value.strip().lower()
        value = _FLAGS.get(word, word)
    if isinstance(value, bool):
        return _TRUNCATED[value], ""
    if _empty(value):
        return FinishReason.UNKNOWN, ""
    known = _FINISH.get(str(value))
    return (known, "") if known else (FinishReason.UNKNOWN, str(value)[:80])


def _labels(mine: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        label = mine[f"label.{name}"]
        if not _empty(label):
            found[name] = label if isinstance(label, str) else json.dumps(finite(label))
    return found


def _empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
