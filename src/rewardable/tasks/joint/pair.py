"""Any two tasks as one: the prompts of both, or of the first, judged by both verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewardable.protocols import Task
from rewardable.records import Json, Prompt
from rewardable.tasks.joint.verify import Half, JointVerifier, Score

Shown = Literal["both", "first"]

KEPT = ("totals", "cluster")
"""Facts of the first prompt that coverage and intervals read of a joint prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JointTask:
    """Prompts of two tasks; facts hold ``first`` and ``second``, the facts of either side."""

    name: str
    task_a: Task
    task_b: Task
    shown: Shown
    verifier: JointVerifier

    @property
    def version(self) -> str:
        """Changes with either side's."""
        return f"{self.task_a.version}.{self.task_b.version}"

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` prompts: the i-th of the first task with the i-th of the second.

        Raises what the tasks raise, DataError where one cannot supply so many.
        """
        first = self.task_a.prompts(count, seed)
        second = first if self.shown == "first" else self.task_b.prompts(count, seed)
        return tuple(self._prompt(a, b) for a, b in zip(first, second, strict=True))

    def _prompt(self, a: Prompt, b: Prompt) -> Prompt:
        *before, last = a.messages
        if self.shown == "both":
            last = replace(last, content=f"{last.content}\n\n{b.text}")
        facts: dict[str, Json] = {"first": dict(a.facts), "second": dict(b.facts)}
        facts |= {name: a.facts[name] for name in KEPT if name in a.facts}
        return Prompt(
            task=self.name, task_version=self.version, messages=(*before, last), facts=facts
        )


def joint(
    task_a: Task,
    task_b: Task,
    *,
    name: str = "",
    shown: Shown = "both",
    score: Score = "binary",
    weight: float = 0.5,
) -> JointTask:
    """Build the task that wants both: CORRECT only when both verifiers say so.

    shown: ``both`` writes the second task's prompt below the first's; ``first`` shows the first
    task's prompts alone, and both verifiers judge by their facts.
    name: what prompts carry; a run is graded again by it, so it should be one that ``load_task``
    knows. score, weight: see ``JointVerifier``.
    """
    verifier = JointVerifier(
        base="joint",
        first=Half(part="first", verifier=task_a.verifier, facts="first"),
        second=Half(part="second", verifier=task_b.verifier, facts="second"),
        score=score,
        weight=weight,
    )
    label = name or f"joint({task_a.name}, {task_b.name})"
    return JointTask(name=label, task_a=task_a, task_b=task_b, shown=shown, verifier=verifier)
