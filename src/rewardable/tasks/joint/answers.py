r"""The answer side of MathIF and ReasonIF.

MathIF: Math-Verify's reading of the box, whose command counts in any case, since a response in
capitals can only write ``\BOXED{5}``. ReasonIF: the content of the last ``<answer>`` tag behind
the reasoning, a number or a letter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, last_tag, prompt_opens_reasoning
from rewardable.tasks.math.compare import LIMIT_S
from rewardable.tasks.math.stated import anywhere, required
from rewardable.tasks.math.verify import MathVerifier, Policy, decide

CHOICE, NUMBER = "choice", "number"
"""``facts["kind"]`` of an answer: a letter, or a number."""

_BOX = re.compile(r"\\boxed(?=\s*\{)", re.IGNORECASE)
_LETTER = re.compile(r"\W*([A-Za-z])(?![A-Za-z'])")
_SAID = re.compile(r"answer(?:\s+is|\s*:)\W*([A-Z])(?![A-Za-z'])", re.IGNORECASE)
MAX_STATED = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class BoxVerifier:
    """A mathematics verifier that reads the box command in any case."""

    inner: MathVerifier

    @property
    def name(self) -> str:
        """Name of the inner one."""
        return self.inner.name

    @property
    def version(self) -> str:
        """Version of the inner one."""
        return self.inner.version

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion."""
        text = _BOX.sub(lambda _: "\\boxed", completion.text)
        return self.inner.verify(prompt, replace(completion, text=text))


@dataclass(frozen=True, kw_only=True, slots=True)
class TagVerifier:
    """Judges the last ``<answer>`` tag by ``facts["answer"]`` and ``facts["kind"]``.

    strict: without a tag there is no answer. lenient: then also what follows "answer is".
    Part ``format``: whether there is a tag. Label ``answer``.
    """

    base: str = "reasonif-answer"
    policy: Policy = "lenient"
    limit_s: float = LIMIT_S
    version: str = "1"

    @property
    def name(self) -> str:
        """Name with the policy."""
        return f"{self.base}-{self.policy}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; UNGRADED when Math-Verify fails on the answer."""
        rest = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if rest is None:
            return self._verdict(0.0, "reasoning not closed", tag=0.0)
        tag = last_tag(rest) or None
        choice = prompt.facts.get("kind") == CHOICE
        stated = tag if tag or self.policy == "strict" else _untagged(rest, choice=choice)
        form = float(tag is not None)
        if not stated:
            return self._verdict(0.0, "no answer", tag=form)
        gold = str(prompt.facts["answer"]).strip()
        if choice:
            letter = _letter(stated)
            return self._verdict(*_equal(letter == gold.upper()), tag=form, answer=letter)
        box = required(stated, "box")
        found = decide(gold, box or stated[-MAX_STATED:], "value", "", False, self.limit_s)
        return self._verdict(found.share, found.reason, tag=form, answer=found.label)

    def _verdict(
        self, share: float | None, reason: str, *, tag: float, answer: str = ""
    ) -> Verdict:
        right = Outcome.CORRECT if share == 1.0 else Outcome.WRONG
        return Verdict(
            outcome=Outcome.UNGRADED if share is None else right,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=None if share is None else float(share == 1.0),
            parts={"format": tag},
            labels={"answer": answer} if answer else {},
        )


def _equal(right: bool) -> tuple[float, str]:
    return (1.0, "") if right else (0.0, "wrong value")


def _letter(stated: str) -> str:
    match = _LETTER.match(stated)
    return match[1].upper() if match else ""


def _untagged(text: str, *, choice: bool) -> str | None:
    if not choice:
        return anywhere(text, "box", required(text, "box"))
    said = _SAID.findall(text)
    return said[-1] if said else None
