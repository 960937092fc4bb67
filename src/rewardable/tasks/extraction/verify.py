"""Judge extracted fields: each is a part, the share that is right is the score, all is CORRECT.

- strict: a JSON object (see ``read``), values of the right JSON type.
- lenient: an object, else key-value lines; values may be written as text (see ``compare``).

Fields that were not asked for do not matter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks.answers import after_reasoning, prompt_opens_reasoning
from rewardable.tasks.extraction.compare import KINDS, Kind, Policy, kind_of, same
from rewardable.tasks.extraction.read import DuplicateKeyError, last_object, stated_lines

LONGEST = 100_000
REASONS = {
    "reasoning not closed": "a <think> block is open at the end of the response",
    "too long": f"the response has more than {LONGEST} characters",
    "no object": "strict: no complete JSON object with a wanted field",
    "no fields": "lenient: neither an object nor a line with a wanted field",
    "duplicate key": "a wanted field is stated twice",
    "field missing": "some field is not stated",
    "wrong value": "some field has another value or, strict, another type",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractionVerifier:
    """Judges by ``facts["fields"]``, name -> gold value, and ``facts["types"]``, name -> type.

    Parts: ``format`` and ``field.NAME`` of every field. Label ``answer``: what was stated.
    """

    policy: Policy = "strict"
    version: str = "1"

    @property
    def name(self) -> str:
        """Name with the policy: ``extraction-strict``."""
        return f"extraction-{self.policy}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion; never raises. UNGRADED for a prompt without gold fields."""
        gold = prompt.facts.get("fields")
        kinds = _kinds(gold, prompt.facts.get("types") or {})
        if not isinstance(gold, Mapping) or kinds is None:
            return self._verdict(Outcome.UNGRADED, "prompt without fields and known types")
        text = after_reasoning(completion.text, opened=prompt_opens_reasoning(prompt.text))
        if text is None or len(text) > LONGEST:
            reason = "reasoning not closed" if text is None else "too long"
            return self._verdict(Outcome.WRONG, reason, _parts(kinds, {}, gold, self.policy))
        try:
            stated = self._stated(text, kinds)
        except DuplicateKeyError:
            parts = _parts(kinds, {}, gold, self.policy)
            return self._verdict(Outcome.WRONG, "duplicate key", parts)
        parts = _parts(kinds, stated or {}, gold, self.policy)
        return self._judged(stated, parts, kinds)

    def _stated(self, text: str, kinds: Mapping[str, Kind]) -> Mapping[str, Any] | None:
        found = last_object(text, kinds)
        if found is None and self.policy == "lenient":
            return stated_lines(text, kinds) or None
        return found

    def _judged(
        self,
        stated: Mapping[str, Any] | None,
        parts: dict[str, float | None],
        kinds: Mapping[str, Kind],
    ) -> Verdict:
        if stated is None:
            reason = "no object" if self.policy == "strict" else "no fields"
            return self._verdict(Outcome.WRONG, reason, parts)
        parts["format"] = 1.0
        answer = {name: stated[name] for name in kinds if name in stated}
        label = json.dumps(answer, sort_keys=True, ensure_ascii=True, default=str)[:200]
        fields = [parts[f"field.{name}"] for name in kinds]
        if all(fields):
            return self._verdict(Outcome.CORRECT, "", parts, label)
        reason = "wrong value" if len(answer) == len(kinds) else "field missing"
        return self._verdict(Outcome.WRONG, reason, parts, label)

    def _verdict(
        self,
        outcome: Outcome,
        reason: str,
        parts: Mapping[str, float | None] | None = None,
        answer: str = "",
    ) -> Verdict:
        fields = [value or 0.0 for name, value in (parts or {}).items() if name != "format"]
        graded = outcome is not Outcome.UNGRADED and fields
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=sum(fields) / len(fields) if graded else None,
            parts=parts or {},
            labels={"answer": answer} if answer else {},
        )


def _parts(
    kinds: Mapping[str, Kind], stated: Mapping[str, Any], gold: Mapping[str, Any], policy: Policy
) -> dict[str, float | None]:
    parts: dict[str, float | None] = {"format": 0.0}
    for name, kind in kinds.items():
        right = name in stated and same(stated[name], gold[name], kind, policy)
        parts[f"field.{name}"] = float(right)
    return parts


def _kinds(gold: object, told: Mapping[str, Any]) -> dict[str, Kind] | None:
    """Return the type of every field, told or that of its gold value; None when one has none."""
    if not isinstance(gold, Mapping) or not gold:
        return None
    found = {str(name): told.get(name) or kind_of(value) for name, value in gold.items()}
    known: dict[str, Kind] = {n: kind for n, is_ in found.items() for kind in KINDS if kind == is_}
    return known if len(known) == len(found) else None
