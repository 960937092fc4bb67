"""Outputs of Qwen's math_eval and limit-of-RLVR: one problem a row, its n answers in lists."""

from __future__ import annotations

from rewardable.importers.format import Choices, Format, Head, Notes, Plan


def matches(head: Head) -> bool:
    """Tell a file of outputs by its lists of answers beside the reference."""
    return (
        head.kind == "jsonl"
        and head.has("idx", "code", "gt")
        and isinstance(head.row.get("code"), list)
    )


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Map the lists; ``score`` holds true or false."""
    question = "question" if head.has("question") else "problem"
    fields = {"prompt_id": "idx", "completion": "code", "truth": "gt"}
    if head.has(question):
        fields["prompt"] = question
    if head.has("score"):
        fields["score"] = "score"
        if head.has("pred"):
            fields["label.answer"] = "pred"
    else:
        notes.warnings.append("no scores in the file: judge the answers with --regrade TASK.")
    if head.has("finish_reason"):
        fields["finish_reason"] = "finish_reason"
    notes.assumptions.append(
        "the prompt is the bare question; the template around it is not in the file"
    )
    return Plan(fields=fields)


FORMAT = Format(
    name="math-eval",
    title="math_eval outputs",
    known_by="JSON Lines with idx, gt and a list code",
    matches=matches,
    plan=plan,
)
