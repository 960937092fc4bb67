"""TRL's completions (``log_completions=True`` of GRPO and RLOO): one Parquet file a logged step."""

from __future__ import annotations

from rewardable.importers.format import Choices, Format, Head, Notes, Plan, chosen

_OWN = ("step", "prompt", "completion", "advantage")
SAMPLE = (
    "TRL keeps the last generation batch of a logged step alone, writes evaluation over training "
    "of the same step, and does not say which a row is: this is a sample of what was generated, "
    "no census."
)


def matches(head: Head) -> bool:
    """Tell a completions file."""
    return head.kind == "parquet" and head.has(*_OWN)


def plan(head: Head, choices: Choices, notes: Notes) -> Plan:
    """Take one reward column; the weights that would make a total are not in the file."""
    found = [name for name in head.numeric if name not in _OWN]
    score = chosen("reward column", "score", choices.score, found, head.path.name)
    messages = isinstance(head.row.get("prompt"), list)
    notes.assumptions.append(
        f"prompts and completions are {'messages' if messages else 'decoded text'}; the gold "
        "answer is not in the dump"
    )
    if len(found) > 1:
        others = ", ".join(name for name in found if name != score)
        notes.assumptions.append(f"columns of numbers left out: {others}; reward weights unknown")
    notes.warnings.append(SAMPLE)
    return Plan(
        fields={"prompt": "prompt", "completion": "completion", "score": score}, success=">= 1"
    )


FORMAT = Format(
    name="trl",
    title="TRL completions",
    known_by="Parquet with step, prompt, completion, advantage and a column a reward function",
    matches=matches,
    plan=plan,
    uses=("score",),
    many=True,
)
