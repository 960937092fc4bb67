"""verl's generation dumps, of its classic and its v1 trainer: ``{folder}/{step}.jsonl``."""

from __future__ import annotations

from rewardable.importers.format import Choices, Format, Head, Notes, Plan
from rewardable.importers.once import Once

_BASE = ("input", "output", "score", "step")


def matches(head: Head) -> bool:
    """Tell a dump by the keys that both trainers write."""
    return head.kind == "jsonl" and head.has(*_BASE)


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Prefer ``acc``, which no shaping of the reward has touched, to ``score``."""
    score = choices.score or ("acc" if head.has("acc") else "score")
    fields = {"prompt": "input", "completion": "output", "score": score}
    if head.has("gts"):
        fields["truth"] = "gts"
    if head.has("pred"):
        fields["label.answer"] = "pred"
    _tell(head, score, notes)
    once = Once(("step", "uid"), notes) if head.has("uid") else None
    return Plan(fields=fields, success=">= 1", convert=once)


def _tell(head: Head, score: str, notes: Notes) -> None:
    trainer = "v1" if head.has("uid") else "classic"
    if head.has("reward"):
        notes.assumptions.append(f"a validation dump of the {trainer} trainer: it has 'reward'")
    else:
        notes.assumptions.append(f"a training dump of the {trainer} trainer: it has no 'reward'")
        notes.warnings.append(
            "a training dump: groups may have been filtered by their rewards, and the policy of "
            "a step is that before its update."
        )
    if score == "score":
        notes.warnings.append(
            "'score' is the sum of the token rewards after any shaping (length penalties); where "
            "a right answer can score below 1, give --success."
        )


FORMAT = Format(
    name="verl",
    title="a verl generation dump",
    known_by="JSON Lines with input, output, score, step",
    matches=matches,
    plan=plan,
    uses=("score",),
    many=True,
)
