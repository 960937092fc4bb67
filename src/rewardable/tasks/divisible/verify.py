"""Judge a YES or a NO.

- strict: the first line that is not blank, its letters alone, must be the word.
- lenient: the last line that holds the word yes or no, as a word; both on it are no answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, prompt_opens_reasoning

Policy = Literal["strict", "lenient"]

YES, NO = "YES", "NO"
REASONS = {
    "reasoning not closed": "a <think> block is open at the end of the response",
    "no answer": "strict: the first line is not the word alone; lenient: the word is nowhere",
    "several answers": "lenient: yes and no on the line that answers",
    "wrong value": "the other word is right",
}
_WORD = re.compile(r"(?<![^\W_])(yes|no)(?![^\W_])", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class YesNoVerifier:
    """Judges by ``facts["answer"]``, YES or NO. Label ``answer``: the word that was read.

    Parts, whatever the policy: ``format`` (the first line is the word alone), ``answer`` (the word
    that the lenient reading finds is right). They serve soft rewards.
    """

    base: str = "yes-no"
    policy: Policy = "strict"
    version: str = "2"

    @property
    def name(self) -> str:
        """Name with the policy, such as ``divisible-strict``."""
        return f"{self.base}-{self.policy}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; never raises."""
        gold = prompt.facts.get("answer")
        if gold not in (YES, NO):
            return self._verdict(Outcome.UNGRADED, "prompt without YES or NO in its facts")
        text = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if text is None:
            return self._verdict(Outcome.WRONG, "reasoning not closed")
        strict, lenient = strict_words(text), lenient_words(text)
        parts = {"format": float(len(strict) == 1), "answer": float(lenient == {gold})}
        words = strict if self.policy == "strict" else lenient
        if len(words) != 1:
            why = "several answers" if words else "no answer"
            return self._verdict(Outcome.WRONG, why, parts=parts)
        answer = min(words)
        right = answer == gold
        outcome, reason = (Outcome.CORRECT, "") if right else (Outcome.WRONG, "wrong value")
        return self._verdict(outcome, reason, answer, parts)

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        answer: str = "",
        parts: Mapping[str, float] | None = None,
    ) -> Verdict:
        scores = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=scores[outcome],
            parts=dict(parts or {}),
            labels={"answer": answer} if answer else {},
        )


def strict_words(text: str) -> set[str]:
    """Return the word that the first line is, nothing when it is more or other."""
    first = text.strip().split("\n", 1)[0]
    letters = "".join(filter(str.isalpha, first)).upper()
    return {letters} & {YES, NO}


def lenient_words(text: str) -> set[str]:
    """Return the words of the last line that has any."""
    for line in reversed(text.split("\n")):
        found = {word.upper() for word in _WORD.findall(line)}
        if found:
            return found
    return set()
