r"""A verifier for problems whose reference is one number.

Policies say where the answer stands, after the reasoning:

- strict: the line after the last ``####``, else the last complete ``\boxed{}``.
- lenient: those, else the first number after the last "answer is" or "answer:", else the last
  number of the response.

A stated answer with exactly one number is compared as a number, exactly. Any other (LaTeX) goes
to Math-Verify. ``percent``: with ``value`` 35% is 0.35 and not 35; with ``either`` it is both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from rewardable.errors import BoundaryError
from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import (
    after_reasoning,
    last_box,
    last_marked,
    prompt_opens_reasoning,
)
from rewardable.tasks.mathcheck import is_costly, same_value
from rewardable.tasks.numbers import Number, last_number, lone_number, numbers_in

Policy = Literal["strict", "lenient"]
Percent = Literal["value", "either"]

REASONS = {
    "no answer": "lenient: the response states no number",
    "no complete boxed answer": "strict: neither #### nor a complete, non-empty box",
    "reasoning not closed": "a <think> block is open at the end of the response",
    "not a plain number": "the stated answer is long, or holds a power or a factorial",
    "wrong value": "the stated answer is another value",
}

_PHRASE = re.compile(r"answer(?:\s+is|\s*:)", re.IGNORECASE)
_DECORATION = re.compile(r"\\(?:text|mathrm|mbox)\{[^{}]*\}|\*\*|__|`|\\[()\[\],;! ]")
_OPERATION = re.compile(r"\\[a-zA-Z]|[-+*/^!]")


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalAnswerVerifier:
    """Judges by ``facts["answer"]``. Label ``answer``: the value stated, tidied. Score: 1 or 0."""

    base: str = "final-answer"
    policy: Policy = "lenient"
    percent: Percent = "value"
    version: str = "1"

    @property
    def name(self) -> str:
        """Name with the policy, such as ``gsm8k-lenient``."""
        either = "-percent" if self.percent == "either" else ""
        return f"{self.base}-{self.policy}{either}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; never raises. UNGRADED when Math-Verify fails on the answer."""
        gold = last_number(str(prompt.facts.get("answer", "")))
        if gold is None:
            return self._verdict(Outcome.UNGRADED, "prompt without a numeric answer in its facts")
        rest = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if rest is None:
            return self._verdict(Outcome.WRONG, "reasoning not closed")
        stated = self._stated(rest)
        if stated is None:
            missing = "no complete boxed answer" if self.policy == "strict" else "no answer"
            return self._verdict(Outcome.WRONG, missing)
        number = _plain(stated)
        answer = str(number.value) if number else stated[:80]
        try:
            reason = self._fault(gold.value, number, stated)
        except BoundaryError as error:
            return self._verdict(Outcome.UNGRADED, str(error)[:200], answer)
        return self._verdict(Outcome.WRONG if reason else Outcome.CORRECT, reason, answer)

    def _stated(self, text: str) -> str | None:
        stated = last_marked(text) or last_box(text)
        if stated or self.policy == "strict":
            return stated
        phrases = list(_PHRASE.finditer(text))
        after = next(numbers_in(text[phrases[-1].end() :]), None) if phrases else None
        found = after or last_number(text)
        return found.text if found else None

    def _fault(self, gold: Fraction, number: Number | None, stated: str) -> str:
        if number:
            values = {number.value, number.unscaled if self.percent == "either" else number.value}
            return "" if gold in values else "wrong value"
        if is_costly(stated):
            return "not a plain number"
        return "" if same_value(str(gold), stated) else "wrong value"

    def _verdict(self, outcome: Outcome, reason: str, answer: str | None = None) -> Verdict:
        scores = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=scores[outcome],
            labels={} if answer is None else {"answer": answer},
        )


def _plain(stated: str) -> Number | None:
    """Return the number of an answer that is one number, units and decoration aside."""
    bare = _DECORATION.sub(" ", stated)
    number = lone_number(bare)
    if number is None or _OPERATION.search(bare.replace(number.text, " ", 1)):
        return None
    return number
