"""lm-evaluation-harness' sample logs (``--log_samples``): one row a document and filter.

A filter is another reading of the same answers, no further sample: one is taken. With repeats the
metric describes a filtered answer (the first, or a vote), so all answers are read and none of them
is taken as judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.importers.format import Choices, Format, Head, Notes, Plan, chosen
from rewardable.importers.once import Once
from rewardable.importers.sources import Row

_NAME = re.compile(r"samples_(.+)_\d{4}-\d{2}-\d{2}T[^_]*\.jsonl")
_OWN = ("doc_id", "doc_hash", "prompt_hash", "target_hash", "target", "doc", "arguments", "resps")


def matches(head: Head) -> bool:
    """Tell a sample log."""
    return head.kind == "jsonl" and head.has("doc_id", "resps", "filtered_resps")


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Read the answers as they were given; the metric of the chosen filter judges single ones."""
    named = head.row.get("metrics")
    found = [name for name in head.numeric if name not in _OWN]
    metrics = [name for name in named if name in found] if isinstance(named, list) else found
    score = chosen("metric", "score", choices.score, metrics, head.path.name)
    task = _task_of(head.path)
    names = ("prompt_id", "prompt", "truth", "completion", "index")
    fields = {name: name for name in names} | {"score": score}
    fields["label.answer"] = "answer"
    notes.assumptions.append(
        "prompt key: task, doc_id and the hash of the prompt as it was sent, its template and "
        "examples included"
    )
    settings = _arguments(head.row)[1]
    if settings:
        told = ", ".join(f"{k} {v!r}" for k, v in settings.items() if k != "until")
        notes.assumptions.append(f"as logged of sampling: {told or 'nothing but stop strings'}")
    reader = _Reader(score, choices.filter, notes)
    return Plan(
        fields=fields,
        success=">= 1",
        convert=reader,
        task=task or None,
        policy=_policy_of(head.path),
    )


class _Reader:
    """Makes a row for each answer of a document."""

    def __init__(self, score: str, chosen_filter: str, notes: Notes) -> None:
        self._score = score
        self._filter = chosen_filter
        self._first_filter: str | None = None
        self._notes = notes
        self._once = Once(("doc_id", "prompt_hash", "filter"), notes)

    def __call__(self, row: Row) -> Iterable[Mapping[str, Any]]:
        answers = _answers(row)
        if not self._wanted(row) or not self._once.first(row):
            return ()
        value, single = row.value, len(answers) == 1
        if not single:
            self._notes.warn_once(
                f"several answers a document: {self._score!r} judges the filtered one alone (the "
                "first, or a vote), so the answers stay ungraded; judge them with --regrade TASK."
            )
        read = value.get("filtered_resps")
        shared = {
            "prompt_id": f"{value['doc_id']}:{value.get('prompt_hash') or ''}",
            "prompt": _arguments(value)[0],
            "truth": value.get("target"),
            self._score: value.get(self._score) if single else None,
            "answer": read[0] if single and isinstance(read, list) and read else None,
        }
        return [
            {**shared, "completion": answer, "index": index} for index, answer in enumerate(answers)
        ]

    def _wanted(self, row: Row) -> bool:
        name = str(row.value.get("filter", "none"))
        if self._filter:
            if name != self._filter:
                self._notes.skipped[f"read by the filter {name!r}, not {self._filter!r}"] += 1
            return name == self._filter
        if self._first_filter is None:
            self._first_filter = name
            self._notes.assumptions.append(f"filter: {name!r}, the only one")
        if name != self._first_filter:
            raise ConfigError(
                f"row {row.number}: filters {self._first_filter!r} and {name!r} read the same "
                f"answers, and may judge them differently; choose one with --filter."
            )
        return True


def _answers(row: Row) -> list[str]:
    """Return the answers of a generation; DataError for anything else."""
    resps = row.value.get("resps")
    found = resps[0] if isinstance(resps, list) and len(resps) == 1 else None
    if isinstance(found, str):
        found = [found]
    if isinstance(found, list) and found and all(isinstance(one, str) for one in found):
        return found
    raise DataError(
        f"row {row.number}: resps holds no generated texts but {str(resps)[:80]!r}; "
        "log-likelihood tasks have no samples to import."
    )


def _arguments(row: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """Return the prompt and the generation settings of the first request, where they are logged."""
    given = row.get("arguments")
    if isinstance(given, Mapping):
        first = given.get("gen_args_0")
        parts = [first.get("arg_0"), first.get("arg_1")] if isinstance(first, Mapping) else []
    else:
        parts = given[0] if isinstance(given, list) and given else []
    text = parts[0] if isinstance(parts, list) and parts else None
    settings = parts[1] if isinstance(parts, list) and len(parts) > 1 else None
    return (
        text if isinstance(text, str) else None,
        settings if isinstance(settings, Mapping) else {},
    )


def _task_of(path: Path) -> str:
    match = _NAME.match(path.name)
    return match[1] if match else ""


def _policy_of(path: Path) -> str | None:
    """Return the folder's name, which the tool makes of the model's."""
    return path.absolute().parent.name if _NAME.match(path.name) else None


FORMAT = Format(
    name="lm-eval",
    title="an lm-eval sample log",
    known_by="JSON Lines with doc_id, resps, filtered_resps",
    matches=matches,
    plan=plan,
    uses=("score", "filter"),
)
