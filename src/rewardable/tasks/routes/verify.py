"""Judge an answer of the two-route world: its result, its constraint, or both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.routes.constraints import read_constraint
from rewardable.tasks.routes.expression import Expression, apply, read_expression

Goal = Literal["math", "instruction", "joint"]
Policy = Literal["strict", "lenient"]

VERSION = "1"
_LONGEST = 200
_STEP = re.compile(r"([0-9]{1,9})([-+*])([0-9]{1,9})=(-?[0-9]{1,9})")
_NUMBERS = re.compile(r"-?[0-9]{1,9}(?:,-?[0-9]{1,9})*")
_NUMBER = re.compile(r"-?[0-9]{1,9}")


def route_of(text: str) -> str:
    """Return ``steps`` (a computation comes first), ``direct`` (numbers alone) or ``other``."""
    if _STEP.match(text):
        return "steps"
    return "direct" if _NUMBERS.fullmatch(text) else "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutesVerifier:
    """CORRECT by ``goal``: the result, the constraint, or both.

    Every text that is no answer (neither numbers nor steps) is WRONG for every goal. The strict
    policy also checks the steps and that all numbers of a direct answer agree; the lenient one
    reads the last number alone.
    """

    goal: Goal = "math"
    policy: Policy = "strict"

    @property
    def name(self) -> str:
        """``routes-math``, ``routes-instruction-lenient``, ..."""
        return f"routes-{self.goal}{'' if self.policy == 'strict' else '-lenient'}"

    @property
    def version(self) -> str:
        """Raised whenever a verdict could change."""
        return VERSION

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Return the verdict with the parts ``right`` and ``compliant``."""
        text = completion.text.strip()
        expression = read_expression(str(prompt.facts["expression"]))
        route = route_of(text) if len(text) <= _LONGEST else "other"
        fault = self._fault(text, route, expression)
        constraint = prompt.facts.get("constraint")
        compliant = None if constraint is None else read_constraint(str(constraint)).holds(text)
        parts: dict[str, float | None] = {"format": float(route != "other")}
        parts["right"] = float(not fault)
        if compliant is not None:
            parts["compliant"] = float(compliant and route != "other")
        reason = self._reason(fault, route, bool(parts.get("compliant", 1.0)))
        return Verdict(
            outcome=Outcome.WRONG if reason else Outcome.CORRECT,
            verifier=self.name,
            version=self.version,
            reason=reason,
            parts=parts,
            labels=_labels(text, route),
        )

    def _reason(self, fault: str, route: str, compliant: bool) -> str:
        if route == "other":
            return "no answer"
        if self.goal != "instruction" and fault:
            return fault
        return "" if self.goal == "math" or compliant else "constraint broken"

    def _fault(self, text: str, route: str, expression: Expression) -> str:
        numbers = _NUMBER.findall(text)
        if route == "other" or not numbers:
            return "no answer"
        if self.policy == "strict" and route == "steps":
            fault = step_fault(text, expression)
            if fault:
                return fault
        if self.policy == "strict" and route == "direct" and len(set(numbers)) > 1:
            return "several answers"
        return "" if int(numbers[-1].lstrip("-")) == expression.value else "wrong value"


def step_fault(text: str, expression: Expression) -> str:
    """Return what is wrong with a step text, empty when every step is the expression's own."""
    left, steps = expression.first, text.split(",")
    for place, step in enumerate(steps):
        match = _STEP.fullmatch(step)
        if not match:
            return "not a step"
        given = (int(match[1]), match[2], int(match[3]))
        if place >= len(expression.terms) or given != (left, *expression.terms[place]):
            return "not the expression's step"
        if apply(given[1], given[0], given[2]) != int(match[4]):
            return "wrong step result"
        left = int(match[4])
    return "" if len(steps) == len(expression.terms) else "steps missing"


def _labels(text: str, route: str) -> dict[str, str]:
    numbers = _NUMBER.findall(text)
    labels = {"route": route}
    if route != "other" and numbers:
        labels["answer"] = numbers[-1]
    return labels
