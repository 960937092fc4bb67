"""inspect_ai's logs, ``.eval`` (a ZIP archive) and ``.json``: one sample an epoch."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.importers.format import Choices, Format, Head, Notes, Plan, chosen
from rewardable.importers.jsonstream import CutError, members
from rewardable.importers.sources import Damage, Row
from rewardable.importers.streams import chunks_of
from rewardable.importers.zips import content_of, members_of

_SAMPLE = re.compile(r"samples/.+_epoch_\d+(/sample)?\.json")
_ATTACHED = "attachment://"
_MEMBER = "member of an archive"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Its own reading of a scorer's letters."""
_SETTINGS = ("temperature", "top_p", "top_k", "max_tokens", "seed")
_FIELDS = (
    "task",
    "policy",
    "prompt_id",
    "index",
    "prompt",
    "truth",
    "completion",
    "finish_reason",
    "error",
)


def matches(head: Head) -> bool:
    """Tell a log by its kind, which is known by its content."""
    return head.kind in ("zip", "json")


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Read header and samples; success is a value of 1, as for its own ``pass_at``."""
    header = _header(head.path)
    spec = _mapping(header.get("eval"))
    sample = next((_sample_of(row) for row in islice(_rows(head.path, Damage()), 1)), {})
    found = list(_mapping(sample.get("scores"))) or _scorers(spec)
    score = chosen("scorer", "score", choices.score, found, head.path.name)
    told = _mapping(spec.get("model_generate_config"))
    settings = ", ".join(f"{name} {told[name]}" for name in _SETTINGS if told.get(name) is not None)
    notes.assumptions.append("prompt key: task and sample id")
    notes.assumptions.append(f"as logged of sampling: {settings or 'nothing'}")
    notes.assumptions.append("of values that are letters: C is 1, P is 0.5, I and N are 0")
    status = header.get("status")
    if status not in (None, "success"):
        notes.warnings.append(f"the run ended with status {status!r}: prompts may lack samples.")
    fields = {name: name for name in _FIELDS}
    fields |= {"score": score, "label.answer": "answer"}
    reader = _Reader(score, str(spec.get("task") or ""), str(spec.get("model") or ""))
    return Plan(fields=fields, success=">= 1", rows=_rows, convert=reader)


class _Reader:
    """Makes a row of a sample."""

    def __init__(self, score: str, task: str, model: str) -> None:
        self._score = score
        self._task = task
        self._model = model

    def __call__(self, row: Row) -> Iterable[Mapping[str, Any]]:
        sample = _sample_of(row)
        epoch, target = sample.get("epoch", 1), sample.get("target")
        if not isinstance(epoch, int) or epoch < 1 or sample.get("id") is None:
            raise DataError(f"row {row.number}: a sample needs an id and an epoch from 1.")
        said = _mapping(_mapping(sample.get("scores")).get(self._score))
        text, stop = _answer(sample)
        return (
            {
                "task": self._task,
                "policy": self._model,
                "prompt_id": sample["id"],
                "index": epoch - 1,
                "prompt": _attached(sample.get("input"), sample),
                "truth": target[0] if isinstance(target, list) and len(target) == 1 else target,
                "completion": text,
                "finish_reason": "length" if sample.get("limit") else stop,
                "error": _failure(sample),
                self._score: _value(said.get("value")),
                "answer": said.get("answer"),
            },
        )


def _answer(sample: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the first choice as messages, and why it stopped."""
    choices = _mapping(sample.get("output")).get("choices")
    first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    message = _mapping(first.get("message"))
    if "content" not in message:
        return None, None
    stop = first.get("stop_reason")
    content = _attached(message["content"], sample)
    turn = {"role": message.get("role", "assistant"), "content": content}
    return [turn], None if stop == "unknown" else stop


def _sample_of(row: Row) -> dict[str, Any]:
    """Return the sample; a member of an archive is read only now, so that a bad one is one row."""
    if _MEMBER not in row.value:
        return row.value
    path, member = row.value[_MEMBER]
    return _object(content_of(path, member), member.name)


def _attached(value: Any, sample: Mapping[str, Any]) -> Any:
    """Return a text that the log keeps beside the sample in the place of its mark."""
    if isinstance(value, list):
        return [_attached(item, sample) for item in value]
    if isinstance(value, dict):
        return {name: _attached(item, sample) for name, item in value.items()}
    if not isinstance(value, str) or not value.startswith(_ATTACHED):
        return value
    kept = _mapping(sample.get("attachments")).get(value.removeprefix(_ATTACHED))
    if not isinstance(kept, str):
        raise DataError(f"sample {sample.get('id')!r} keeps its text elsewhere ({value[:40]}).")
    return kept


def _failure(sample: Mapping[str, Any]) -> str | None:
    error = sample.get("error")
    if not error:
        return None
    return str(_mapping(error).get("message") or error)[:200]


def _value(value: Any) -> float | None:
    """Return a number; None, which is unscored, for NaN and for what is no number or grade."""
    if isinstance(value, str):
        if value in _GRADES:
            return _GRADES[value]
        try:
            value = float(value)
        except ValueError:
            return {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}.get(value.lower())
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    return None


def _scorers(spec: Mapping[str, Any]) -> list[str]:
    listed = spec.get("scorers")
    found = [_mapping(one).get("name") for one in listed] if isinstance(listed, list) else []
    return [name for name in found if isinstance(name, str)]


def _header(path: Path) -> dict[str, Any]:
    """Return the log without its samples, of a cut archive what was written at the start."""
    if _is_zip(path):
        found = members_of(path, Damage())
        name = next((n for n in ("header.json", "_journal/start.json") if n in found), "")
        return _object(content_of(path, found[name]), name) if name else {}
    header: dict[str, Any] = {}
    with suppress(CutError):  # which the reading of the samples reports
        for name, value in members(chunks_of(path, Damage()), "samples"):
            if name == "samples":
                break
            header[name] = value
    return header


def _rows(path: Path, damage: Damage) -> Iterator[Row]:
    return _zip_rows(path, damage) if _is_zip(path) else _json_rows(path, damage)


def _zip_rows(path: Path, damage: Damage) -> Iterator[Row]:
    found = members_of(path, damage)
    names = [name for name in found if _SAMPLE.fullmatch(name)]
    if not names:
        raise DataError(f"{path.name} holds no samples/*.json: was it logged without samples?")
    for name in names:
        yield Row(name, {_MEMBER: (path, found[name])})


def _json_rows(path: Path, damage: Damage) -> Iterator[Row]:
    number = 0
    try:
        for name, value in members(chunks_of(path, damage), "samples"):
            if name == "samples" and isinstance(value, dict):
                number += 1
                yield Row(number, value)
    except CutError:
        damage.cut_stream = True


def _object(content: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(content.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"the member {name} is no JSON: {error}.") from error
    return _mapping(value)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_zip(path: Path) -> bool:
    with path.open("rb") as handle:
        return handle.read(2) == b"PK"


FORMAT = Format(
    name="inspect",
    title="an inspect_ai log",
    known_by="a .eval archive, or a JSON log that begins with version and status",
    matches=matches,
    plan=plan,
    uses=("score",),
)
