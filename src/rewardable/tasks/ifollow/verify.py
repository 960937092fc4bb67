"""The verifier of instructions: every one of a prompt is checked, and all must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from rewardable.errors import ConfigError
from rewardable.records import Completion, Json, Outcome, Prompt, Verdict
from rewardable.tasks.ifollow.kinds import Instruction, instruction
from rewardable.tasks.ifollow.loose import judged
from rewardable.tasks.ifollow.scope import NOT_CLOSED, Scope, scoped

Mode = Literal["strict", "loose"]
Score = Literal["binary", "soft"]
VERSION = "1"

REASONS = {
    "empty response": "nothing but white space where the instructions apply: it follows none",
    NOT_CLOSED: "a <think> block is open at the end of the response",
    "not followed: KIND": "the first instruction of the prompt that does not hold",
}


def instructions_of(facts: Mapping[str, Json]) -> tuple[Instruction, ...]:
    """Build the instructions of a prompt from ``facts["instructions"]`` and ``facts["kwargs"]``.

    A kind that a prompt uses twice is two parts: ``KIND`` and ``KIND#2``.

    Raises
    ------
    ConfigError: no instruction, an unknown kind, or parameters that cannot be meant.
    """
    names = cast(Sequence[str], facts.get("instructions") or ())
    told = facts.get("kwargs")
    given = cast(Sequence[dict[str, Any] | None], [None] * len(names) if told is None else told)
    if not names or len(names) != len(given):
        raise ConfigError(
            "a prompt needs `instructions`, and `kwargs` of the same number, in its facts, got "
            f"{len(names)} and {len(given)}."
        )
    seen: Counter[str] = Counter()
    found: list[Instruction] = []
    for name, values in zip(names, given, strict=True):
        seen[name] += 1
        part = name if seen[name] == 1 else f"{name}#{seen[name]}"
        found.append(instruction(name, values, part=part))
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class InstructionVerifier:
    """CORRECT when every instruction holds in the chosen mode.

    mode: ``strict`` judges the response as it is; ``loose`` also takes it without its first line,
    its last line, both, or without ``*``. scope: see ``scope.scoped``.
    score: ``binary`` is 1 or 0, ``soft`` the share of the instructions that hold.
    Parts: ``strict`` and ``loose`` (all instructions hold), and one part an instruction, by its
    kind, in the chosen mode.
    """

    base: str = "instructions"
    mode: Mode = "strict"
    scope: Scope = "response"
    score: Score = "binary"
    version: str = VERSION

    @property
    def name(self) -> str:
        """Name with the mode, such as ``ifeval-strict``."""
        scope = "" if self.scope == "response" else "-reasoning"
        soft = "-soft" if self.score == "soft" else ""
        return f"{self.base}-{self.mode}{scope}{soft}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion.

        Raises
        ------
        ConfigError: instructions that cannot be checked; they are never skipped.
        """
        asked = instructions_of(prompt.facts)
        text = scoped(prompt, completion, self.scope)
        found = [judged(one, text or "") for one in asked]
        chosen = [loose if self.mode == "loose" else strict for strict, loose in found]
        reason = "" if all(chosen) else f"not followed: {asked[chosen.index(False)].id}"
        if not (text or "").strip():
            reason = NOT_CLOSED if text is None else "empty response"
        parts: dict[str, float | None] = {
            "strict": float(all(strict for strict, _ in found)),
            "loose": float(all(loose for _, loose in found)),
        }
        parts.update((one.part, float(holds)) for one, holds in zip(asked, chosen, strict=True))
        share = sum(chosen) / len(chosen)
        return Verdict(
            outcome=Outcome.WRONG if reason else Outcome.CORRECT,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=share if self.score == "soft" else float(not reason),
            parts=parts,
        )
