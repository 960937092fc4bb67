r"""The verifier of mathematics tasks: where the answer stands, and whether it is the reference.

- strict: the answer must stand in the required form (a complete box; for GSM8K and the word
  problems the line after ``####`` or a box). Anything else is WRONG.
- lenient: it may stand anywhere, see ``stated``.

A reference of several values is matched by all of them and nothing else. What cannot be decided
within the time limit is UNGRADED, never WRONG.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from rewardable.errors import BoundaryError
from rewardable.records import Completion, Json, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, prompt_opens_reasoning
from rewardable.tasks.math.compare import LIMIT_S, Comparison, Percent, share
from rewardable.tasks.math.helper import Budget
from rewardable.tasks.math.reading import read
from rewardable.tasks.math.stated import Form, anywhere, required
from rewardable.tasks.math.values import Several, Value, canonical

Policy = Literal["strict", "lenient"]
Score = Literal["binary", "soft"]

FORMAT_WEIGHT = 0.1
"""Share of a soft score that the required form earns."""

MAX_LABEL = 200

REASONS = {
    "no answer": "lenient: the response states nothing",
    "no complete boxed answer": "strict: no complete, non-empty box (nor a #### line, where taken)",
    "reasoning not closed": "a <think> block is open at the end of the response",
    "wrong value": "the stated answer is another value",
    "another number of values": "the reference and the answer state differently many values",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MathVerifier:
    """Judges by ``facts["answer"]``; ``facts["tolerance"]`` is absolute.

    score: ``binary`` is 1 or 0. ``soft`` adds the parts: FORMAT_WEIGHT for the required form, the
    rest for the share of right values, |both| / |either|, so that a list of guesses earns little.
    limit_s: for one answer. Parts: ``format``, ``answer``. Label ``answer``: the value stated; of
    a right answer the reference, so that equal answers share a label.
    """

    base: str = "math"
    form: Form = "box"
    policy: Policy = "lenient"
    percent: Percent = "value"
    score: Score = "binary"
    limit_s: float = LIMIT_S
    version: str = "2"

    @property
    def name(self) -> str:
        """Name with the policy, such as ``math500-strict``."""
        either = "-percent" if self.percent == "either" else ""
        soft = "-soft" if self.score == "soft" else ""
        return f"{self.base}-{self.policy}{either}{soft}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; never raises. UNGRADED when Math-Verify fails on the answer."""
        gold = str(prompt.facts.get("answer", "")).strip()
        if not gold:
            return self._verdict(Outcome.UNGRADED, "prompt without an answer in its facts")
        rest = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if rest is None:
            return self._verdict(Outcome.WRONG, "reasoning not closed", share=0.0, form=0.0)
        stated = required(rest, self.form)
        form = float(stated is not None)
        stated = anywhere(rest, self.form, stated) if self.policy == "lenient" else stated
        if stated is None:
            missing = "no complete boxed answer" if self.policy == "strict" else "no answer"
            return self._verdict(Outcome.WRONG, missing, share=0.0, form=form)
        found = self._decide(gold, stated, prompt.facts)
        outcome = Outcome.CORRECT if found.share == 1.0 else Outcome.WRONG
        outcome = outcome if found.share is not None else Outcome.UNGRADED
        return self._verdict(
            outcome, found.reason, share=found.share, form=form, answer=found.label
        )

    def _decide(self, gold: str, stated: str, facts: Mapping[str, Json]) -> Decision:
        tolerance = str(facts.get("tolerance", ""))
        partial = self.score == "soft"
        return decide(gold, stated, self.percent, tolerance, partial, self.limit_s)

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        *,
        share: float | None = None,
        form: float | None = None,
        answer: str | None = None,
    ) -> Verdict:
        score = None if share is None or form is None else self._score(outcome, share, form)
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=score,
            parts={} if form is None else {"format": form, "answer": share},
            labels={} if answer is None else {"answer": answer},
        )

    def _score(self, outcome: Outcome, share: float, form: float) -> float:
        if self.score == "binary":
            return float(outcome is Outcome.CORRECT)
        return FORMAT_WEIGHT * form + (1 - FORMAT_WEIGHT) * share


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What was decided: 1 for equal, less for a part of a list, None for undecided."""

    share: float | None
    reason: str
    label: str


@lru_cache(maxsize=1 << 16)
def decide(
    gold: str, stated: str, percent: Percent, tolerance: str, partial: bool, limit_s: float
) -> Decision:
    """Compare a stated answer with the reference; the same question is decided once a process.

    ``partial``: a list that shares values with the reference counts for its share of them.
    """
    left = _reading(gold)
    right = read(stated, grouped=not isinstance(left, Several))
    comparison = Comparison(
        percent=percent,
        tolerance=Fraction(tolerance or 0),
        budget=Budget(limit_s),
    )
    try:
        equal = comparison.same(left, right)
        part = 0.0 if equal or not partial else share(left, right, comparison)
    except BoundaryError as error:
        return Decision(share=None, reason=str(error)[:200], label=canonical(right)[:MAX_LABEL])
    if equal:
        return Decision(share=1.0, reason="", label=canonical(left)[:MAX_LABEL])
    return Decision(
        share=min(part, 0.99), reason=_fault(left, right), label=canonical(right)[:MAX_LABEL]
    )


@lru_cache(maxsize=1 << 12)
def _reading(gold: str) -> Value:
    return read(gold)


def _fault(gold: Value, answer: Value) -> str:
    sizes = [len(v.items) if isinstance(v, Several) else 1 for v in (gold, answer)]
    return "wrong value" if sizes[0] == sizes[1] else "another number of values"
