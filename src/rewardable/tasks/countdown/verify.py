r"""Judge a response: is it a correct Countdown answer, and of which solution and family.

Every outcome but CORRECT is WRONG with one of the reasons in ``REASONS``; no text makes the
verifier raise. Only the response is read. The policies say where the answer stands:

- expression, strict: the last complete ``<answer>`` tag after the reasoning.
- expression, lenient: that tag, else the last complete ``\boxed{}``, else the last line (what
  follows its last colon, without markdown and the final full stop).
- steps, strict (pocket grammar): the whole response is the step text and nothing else.
- steps, lenient: the tag, else the whole response; spaces and typographic operators are read, and
  results may be any exact rational.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import (
    after_reasoning,
    last_box,
    last_line,
    last_tag,
    prompt_opens_reasoning,
)
from rewardable.tasks.countdown.normal import Form, write
from rewardable.tasks.countdown.parse import MAX_LENGTH, UnreadableError, entry, parse, plain
from rewardable.tasks.countdown.steps import Step, Value, allowed, apply, replay

Style = Literal["expression", "steps"]
Policy = Literal["strict", "lenient"]
Rule = Literal["any", "division", "start"]

REASONS = {
    "no answer": "nothing where the format policy looks for the answer",
    "reasoning not closed": "a <think> block is open at the end of the response",
    "too long": f"the answer has more than {MAX_LENGTH} characters; deep nesting ends here too",
    "not an expression": "other characters than integers, + - * / and brackets, or an operator "
    "without operand; also a list of answers and a chain of equalities",
    "unbalanced brackets": "a bracket without partner",
    "missing operator": "two operands side by side, (1+2)(3) too",
    "unary sign": "a sign before an operand: -3+5",
    "power": "** or ^",
    "integer division": "//",
    "remainder": "%",
    "decimal": "a full stop inside the expression: 1.5",
    "number not given": "an integer that is not among the numbers",
    "number reused": "a given number more often than it is given",
    "number missing": "a given number is not used",
    "division by zero": "some division is by zero",
    "wrong value": "a legal expression of another value",
    "wrong stated value": "a trailing '= N' that differs from the value of the expression",
    "not a step": "steps: some step is not of the form a*b=c in the grammar",
    "wrong step result": "steps: some result is not the exact one, or not allowed",
    "number not available": "steps: an operand is neither a number left nor a result left",
    "not an integer step": "an intermediate result is no integer, under the integers-only rule",
    "no division": "correct but for the rule that the answer contains a division",
    "wrong start": "correct but for the rule which number the answer starts with",
}


FORMAT_FAULTS = frozenset(
    {
        "no answer",
        "reasoning not closed",
        "too long",
        "not an expression",
        "unbalanced brackets",
        "missing operator",
        "unary sign",
        "power",
        "integer division",
        "remainder",
        "decimal",
        "not a step",
    }
)
"""Reasons why an answer is not in the form that was asked for, whatever its value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """The verdict on an answer text; ``reason`` is empty iff it is correct."""

    reason: str = ""
    form: Form | None = None


def judge_expression(
    text: str, numbers: Sequence[int], target: int, *, integers_only: bool = False
) -> Judgement:
    """Judge an expression, with or without a trailing ``= N``."""
    if len(text) > MAX_LENGTH:
        return Judgement(reason="too long")
    left, equals, stated = plain(_undecorated(text)).partition("=")
    try:
        expression = parse(left)
    except UnreadableError as error:
        return Judgement(reason=error.reason)
    reason = _number_fault(expression.literals, numbers)
    if reason:
        return Judgement(reason=reason)
    results = expression.results()
    if results is None:
        return Judgement(reason="division by zero")
    reason = _stated_fault(stated, results[-1]) if equals else ""
    if not reason and results[-1] != target:
        reason = "wrong value"
    if not reason and integers_only and any(value.denominator != 1 for value in results):
        reason = "not an integer step"
    return Judgement(reason=reason) if reason else Judgement(form=expression.form())


def judge_steps(
    text: str,
    numbers: Sequence[int],
    target: int,
    *,
    policy: Policy = "strict",
    rationals: bool = False,
) -> Judgement:
    """Judge a step text. ``strict`` reads the pocket grammar; ``rationals`` allows any result."""
    if len(text) > MAX_LENGTH:
        return Judgement(reason="too long")
    steps = _read_steps(text, policy)
    if steps is None:
        return Judgement(reason="not a step")
    for step in steps:
        exact = apply(step.operator, step.left, step.right)
        if exact is None:
            return Judgement(reason="division by zero")
        if exact != step.result or not allowed(exact, rationals=rationals):
            return Judgement(reason="wrong step result")
    form = replay(numbers, steps)
    if isinstance(form, str):
        return Judgement(reason=form)
    return Judgement(form=form) if steps[-1].result == target else Judgement(reason="wrong value")


def _undecorated(text: str) -> str:
    """Drop markdown emphasis, code marks and the final full stop around an answer."""
    text = text.strip().strip("`").strip()
    if text.startswith("**") and text.endswith("**") and len(text) > 4:
        text = text[2:-2].strip()
    box = last_box(text) if _BOXED.match(text) else None
    return (box or text).rstrip(".").strip()


def _number_fault(used: Sequence[int], given: Sequence[int]) -> str:
    uses, gifts = Counter(used), Counter(given)
    if any(number not in gifts for number in uses):
        return "number not given"
    if any(uses[number] > gifts[number] for number in uses):
        return "number reused"
    return "number missing" if uses != gifts else ""


def _stated_fault(stated: str, value: Value) -> str:
    match = re.fullmatch(r"\s*(-?[0-9]{1,18})\s*", stated)
    if not match:
        return "not an expression"
    return "" if int(match.group(1)) == value else "wrong stated value"


_BOXED = re.compile(r"(?:\$+|\\[(\[])?\s*\\(?:boxed|fbox)\{")
_LITERAL = r"(0|[1-9][0-9]{0,17})"
_POCKET_STEP = re.compile(rf"{_LITERAL}([-+*/]){_LITERAL}={_LITERAL}")
_RATIONAL = r"\(?(-?[0-9]{1,18}(?:/[0-9]{1,18})?)\)?"
_OPERAND = r"([0-9]{1,18}|\(-?[0-9]{1,18}(?:/[0-9]{1,18})?\))"
_WIDE_STEP = re.compile(rf"{_OPERAND}([-+*/]){_OPERAND}={_RATIONAL}")


def _read_steps(text: str, policy: Policy) -> list[Step] | None:
    wide = policy == "lenient"
    if wide:
        text = re.sub(r"[ \t]+", "", plain(text.strip().rstrip(".")))
        parts = [part for part in re.split(r"[,;\n]+", text) if part]
    else:
        parts = text.split(",")
    pattern = _WIDE_STEP if wide else _POCKET_STEP
    matches = [pattern.fullmatch(part) for part in parts]
    steps: list[Step] = []
    for match in matches:
        values = [_value(match.group(i)) for i in (1, 3, 4)] if match else [None]
        if match is None or None in values:
            return None
        left, right, result = (value for value in values if value is not None)
        steps.append(Step(left=left, operator=match.group(2), right=right, result=result))
    return steps or None


def _value(text: str) -> Value | None:
    up, _, down = text.strip("()").partition("/")
    if down and int(down) == 0:
        return None
    value = Fraction(int(up), int(down or 1))
    return int(value) if value.denominator == 1 else value


@dataclass(frozen=True, kw_only=True, slots=True)
class CountdownVerifier:
    """Judges responses to Countdown prompts by their facts (numbers, target, start).

    Labels: ``solution`` (canonical text, when CORRECT) and ``entry`` (whenever the answer text
    starts with an operand and an operator). Score: 1 or 0. Part: ``format``.
    """

    style: Style = "expression"
    policy: Policy = "strict"
    integers_only: bool = False
    rule: Rule = "any"
    version: str = "2"

    @property
    def name(self) -> str:
        """Name with everything that changes verdicts, such as ``countdown-steps-division``."""
        parts = ["countdown"]
        parts += ["steps"] if self.style == "steps" else []
        parts += ["lenient"] if self.policy == "lenient" else []
        parts += ["integers"] if self.integers_only else []
        parts += [self.rule] if self.rule != "any" else []
        return "-".join(parts)

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; UNGRADED only when the prompt's facts hold no instance."""
        numbers, target = prompt.facts.get("numbers"), prompt.facts.get("target")
        if not numbers or target is None:
            return Verdict(
                outcome=Outcome.UNGRADED,
                verifier=self.name,
                version=self.version,
                reason="prompt without numbers and target in its facts",
            )
        answer, reason = self._answer(completion.text, prompt_opens_reasoning(prompt.text))
        family = entry(answer) if answer is not None else None
        labels = {"entry": family} if family else {}
        if answer is not None:
            judged = self._judge(answer, numbers, target)
            reason = judged.reason
            if judged.form is not None:
                solution = write(judged.form)
                reason = self._rule_fault(solution, family, prompt.facts.get("start"))
                labels |= {} if reason else {"solution": solution}
        return Verdict(
            outcome=Outcome.WRONG if reason else Outcome.CORRECT,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=0.0 if reason else 1.0,
            parts={"format": float(reason not in FORMAT_FAULTS)},
            labels=labels,
        )

    def _answer(self, text: str, opened: bool) -> tuple[str | None, str]:
        """Return (answer text, "") or (None, why there is none)."""
        if self.style == "steps" and self.policy == "strict":
            return (text, "") if text else (None, "no answer")
        rest = after_reasoning(text, opened=opened)
        if rest is None:
            return None, "reasoning not closed"
        answer = last_tag(rest)
        if answer is None and self.policy == "lenient":
            answer = rest.strip() if self.style == "steps" else _free_answer(rest)
        return (answer, "") if answer else (None, "no answer")

    def _judge(self, answer: str, numbers: Sequence[int], target: int) -> Judgement:
        if self.style == "steps":
            rationals = self.policy == "lenient" and not self.integers_only
            return judge_steps(answer, numbers, target, policy=self.policy, rationals=rationals)
        return judge_expression(answer, numbers, target, integers_only=self.integers_only)

    def _rule_fault(self, solution: str, family: str | None, start: int | None) -> str:
        if self.rule == "division" and "/" not in solution:
            return "no division"
        if self.rule == "start" and (family or "")[:-1] != str(start):
            return "wrong start"
        return ""


def _free_answer(text: str) -> str | None:
    box = last_box(text)
    if box is not None:
        return box
    line = last_line(text)
    return line.rpartition(":")[2].strip() if line else None
