"""Plain counts, ``{"id": ..., "n": ..., "c": ...}``: read, and written for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rewardable.importers.format import Choices, Format, Head, Notes, Plan

_IDS = ("id", "prompt_id", "problem_idx", "problem_id", "task_id", "idx")
_POLICIES = ("policy", "model")
_TASKS = ("task", "benchmark")


def matches(head: Head) -> bool:
    """Tell counts by n, c and something that names the prompt."""
    return head.kind in ("jsonl", "csv", "tsv") and head.has("n", "c") and _first(head, _IDS) != ""


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Map the columns under the names that are in use for them."""
    wanted = {
        "prompt_id": _first(head, _IDS),
        "policy": _first(head, _POLICIES),
        "task": _first(head, _TASKS),
        "n": "n",
        "c": "c",
    }
    notes.assumptions.append("n counts graded samples alone; what was not graded is not known")
    return Plan(fields={target: column for target, column in wanted.items() if column})


def _first(head: Head, names: Iterable[str]) -> str:
    return next((name for name in names if head.has(name)), "")


def write_counts(path: Path, rows: Iterable[tuple[str, int, int]]) -> None:
    """Write (id, n, c) as passk-inference reads them: ``{"id", "c", "n"}`` a line."""
    lines = (json.dumps({"id": name, "c": c, "n": n}) + "\n" for name, n, c in rows)
    path.write_text("".join(lines), encoding="utf-8")


FORMAT = Format(
    name="counts",
    title="plain counts",
    known_by="JSON Lines or CSV with id, n, c",
    matches=matches,
    plan=plan,
)
