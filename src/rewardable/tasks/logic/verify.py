"""Check a derivation step by step.

A step is a line ``3: A, D => B``: the number and the text of a rule whose premises are facts or
conclusions of steps above.

- strict: every line is a step, the last one derives the goal, no step goes unused or derives what
  is known.
- lenient: other lines do not matter, nor do valid steps that go unused; steps may stand in list
  marks or behind words.

In both, one wrong step makes the answer WRONG.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rewardable.records import Completion, Json, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, prompt_opens_reasoning
from rewardable.tasks.logic.rules import Instance, Rule, read_rule

Policy = Literal["strict", "lenient"]
Step = tuple[int, Rule]

MOST_STEPS = 200
REASONS = {
    "reasoning not closed": "a <think> block is open at the end of the response",
    "no steps": "no line is a step",
    "too many steps": f"more than {MOST_STEPS} lines or steps",
    "not a step": "strict: a line is something else",
    "no such rule": "a step names a number that no rule has",
    "not the rule": "a step's text is not that of the rule it names",
    "premise not known": "a step uses what is neither a fact nor derived above",
    "known already": "strict: a step derives what was known",
    "unused step": "strict: the goal does not need some step, or the steps go on after it",
    "goal not reached": "all steps are valid, but none derives the goal",
}
_STEP = re.compile(r"([0-9]{1,3}) ?: ?([A-Z](?: ?, ?[A-Z]){0,9}) ?(?:=>|->|→) ?([A-Z])(?![A-Za-z])")


@dataclass(frozen=True, kw_only=True, slots=True)
class LogicVerifier:
    """Judges by the facts ``given``, ``rules`` and ``goal``. Score: 1 or 0.

    Parts: ``steps`` (share of steps that are valid where they stand), ``goal``. Labels of a right
    answer: ``solution``, the rules that the goal needed; of every answer with a valid first step:
    ``entry``, its rule.
    """

    policy: Policy = "strict"
    version: str = "1"

    @property
    def name(self) -> str:
        """``logic-strict`` or ``logic-lenient``."""
        return f"logic-{self.policy}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; UNGRADED when the prompt's facts hold no instance."""
        instance = instance_of(prompt.facts)
        if instance is None:
            return self._verdict(Outcome.UNGRADED, "prompt without an instance in its facts")
        text = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if text is None:
            return self._verdict(Outcome.WRONG, "reasoning not closed")
        steps, fault = self._steps(text)
        checked = _Check(instance)
        faults = [checked.add(step) for step in steps]
        return self._judged(checked, fault, faults)

    def _steps(self, text: str) -> tuple[list[Step], str]:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if len(lines) > MOST_STEPS:
            return [], "too many steps"
        matches = [_STEP.fullmatch(line) or _STEP.search(line) for line in lines]
        steps = [_step(match) for match in matches if match]
        pairs = zip(matches, lines, strict=True)
        whole = all(match is not None and match[0] == line for match, line in pairs)
        if not steps:
            return [], "no steps"
        return steps, "not a step" if not whole and self.policy == "strict" else ""

    def _judged(self, checked: _Check, fault: str, faults: list[str]) -> Verdict:
        reason = next(filter(None, (fault, *faults)), "") or checked.unfinished()
        if not reason and self.policy == "strict":
            reason = checked.untidy()
        valid = sum(not one for one in faults) / len(faults) if faults else 0.0
        labels = {"entry": str(checked.entry)} if checked.entry else {}
        if not reason:
            labels["solution"] = "+".join(map(str, sorted(checked.used())))
        return self._verdict(
            Outcome.WRONG if reason else Outcome.CORRECT,
            reason,
            {"steps": valid, "goal": float(not checked.unfinished())},
            labels,
        )

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        parts: Mapping[str, float | None] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Verdict:
        scores = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=scores[outcome],
            parts=parts or {},
            labels=labels or {},
        )


class _Check:
    """What is known after the steps so far, and by which of them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._by: dict[str, int] = {}
        self._last, self._repeats, self._valid = "", False, list[int]()

    @property
    def entry(self) -> int:
        """The rule of the first step that the goal needed, else of the first; 0 without one."""
        needed = self.used()
        return next((n for n in self._valid if n in needed), self._valid[0] if self._valid else 0)

    def add(self, step: Step) -> str:
        """Take a step; return what is wrong with it."""
        number, rule = step
        if not 1 <= number <= len(self._instance.rules):
            return "no such rule"
        if rule != self._instance.rules[number - 1]:
            return "not the rule"
        if not all(self._knows(premise) for premise in rule.premises):
            return "premise not known"
        self._repeats = self._repeats or self._knows(rule.conclusion)
        if not self._knows(rule.conclusion):
            self._by[rule.conclusion] = number
        self._last = rule.conclusion
        self._valid.append(number)
        return ""

    def unfinished(self) -> str:
        """Return why the goal is not proved, empty when it is."""
        return "" if self._knows(self._instance.goal) else "goal not reached"

    def untidy(self) -> str:
        """Return what a strict reader minds in a derivation that is right."""
        if self._repeats:
            return "known already"
        tidy = self._last == self._instance.goal and self.used() == set(self._valid)
        return "" if tidy else "unused step"

    def used(self) -> set[int]:
        """Return the rules on which the goal rests; empty while it is not reached."""
        found, queue = set[int](), [self._instance.goal]
        while queue:
            number = self._by.get(queue.pop())
            if number is not None and number not in found:
                found.add(number)
                queue += self._instance.rules[number - 1].premises
        return found

    def _knows(self, letter: str) -> bool:
        return letter in self._by or letter in self._instance.facts


def _step(match: re.Match[str]) -> Step:
    premises = tuple(sorted(re.findall("[A-Z]", match[2])))
    return int(match[1]), Rule(premises, match[3])


def instance_of(facts: Mapping[str, Json]) -> Instance | None:
    """Read the instance that a prompt's facts hold; None when they hold none."""
    given, raw, goal = facts.get("given"), facts.get("rules"), facts.get("goal")
    if not isinstance(given, (list, tuple)) or not isinstance(raw, (list, tuple)):
        return None
    rules = [read_rule(str(text)) for text in raw]
    known = tuple(rule for rule in rules if rule is not None)
    if not known or len(known) < len(rules) or not isinstance(goal, str):
        return None
    return Instance(facts=tuple(map(str, given)), rules=known, goal=goal)
