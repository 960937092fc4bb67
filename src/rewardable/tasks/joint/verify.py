"""Two verifiers on one completion: CORRECT only when both are, with both verdicts kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewardable.errors import ConfigError
from rewardable.protocols import Verifier
from rewardable.records import Completion, Outcome, Prompt, Verdict

Score = Literal["binary", "soft"]
VERSION = "1"

_PART_OF = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Half:
    """One side: the name of its part and its verifier.

    facts: the fact of a joint prompt that holds this side's facts; empty: it reads them all.
    """

    part: str
    verifier: Verifier
    facts: str = ""

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Ask the verifier; one that raises leaves this side UNGRADED."""
        try:
            own = replace(prompt, facts=prompt.facts[self.facts]) if self.facts else prompt
            return self.verifier.verify(own, completion)
        except Exception as error:  # noqa: BLE001 - the named boundary between the two sides
            return Verdict(
                outcome=Outcome.UNGRADED,
                verifier=self.verifier.name,
                version=self.verifier.version,
                reason=f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200],
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class JointVerifier:
    """CORRECT when both sides are; WRONG when either is; else UNGRADED, when either is.

    score: ``binary`` is 1 or 0. ``soft`` is weight * first + (1 - weight) * second, of the sides'
    own scores where they give one; without a score of one side there is none.
    Parts: one a side (1, 0, or None when ungraded), and each side's own as ``SIDE.PART``. Labels:
    the first side's, then the second's under their names, or ``SIDE.LABEL`` where one is taken.
    """

    base: str
    first: Half
    second: Half
    score: Score = "binary"
    weight: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a weight outside [0, 1] and sides of one name."""
        if not 0 <= self.weight <= 1:
            raise ConfigError(f"weight must be in [0, 1], got {self.weight}.")
        if self.first.part == self.second.part:
            raise ConfigError(f"the sides need two names, got {self.first.part!r} twice.")

    @property
    def name(self) -> str:
        """The base and both verifiers: ``mathif[mathif-answer-lenient+mathif-strict]``."""
        soft = f"-soft-{self.weight:g}" if self.score == "soft" else ""
        return f"{self.base}[{self.first.verifier.name}+{self.second.verifier.name}]{soft}"

    @property
    def version(self) -> str:
        """Changes with either side's."""
        return f"{VERSION}.{self.first.verifier.version}.{self.second.verifier.version}"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        """Judge one completion by both sides; both are always asked."""
        halves = (self.first, self.second)
        said = [half.verify(prompt, completion) for half in halves]
        outcome, reason = _together(halves, said)
        return Verdict(
            outcome=outcome,
            verifier=self.name,
            version=self.version,
            reason=reason,
            score=self._score(outcome, said),
            parts=_parts(halves, said),
            labels=_labels(halves, said),
        )

    def _score(self, outcome: Outcome, said: Sequence[Verdict]) -> float | None:
        if self.score == "binary":
            return _PART_OF[outcome]
        first, second = (_own_score(verdict) for verdict in said)
        if first is None or second is None:
            return None
        return self.weight * first + (1 - self.weight) * second


def _own_score(verdict: Verdict) -> float | None:
    if verdict.outcome is Outcome.UNGRADED or verdict.score is None:
        return _PART_OF[verdict.outcome]
    return verdict.score


def _together(halves: Sequence[Half], said: Sequence[Verdict]) -> tuple[Outcome, str]:
    for outcome in (Outcome.WRONG, Outcome.UNGRADED):
        for half, verdict in zip(halves, said, strict=True):
            if verdict.outcome is outcome:
                return outcome, f"{half.part}: {verdict.reason or outcome}"
    return Outcome.CORRECT, ""


def _parts(halves: Sequence[Half], said: Sequence[Verdict]) -> dict[str, float | None]:
    parts = {half.part: _PART_OF[v.outcome] for half, v in zip(halves, said, strict=True)}
    for half, verdict in zip(halves, said, strict=True):
        parts |= {f"{half.part}.{name}": value for name, value in verdict.parts.items()}
    return parts


def _labels(halves: Sequence[Half], said: Sequence[Verdict]) -> Mapping[str, str]:
    labels: dict[str, str] = {}
    for half, verdict in zip(halves, said, strict=True):
        for kind, label in verdict.labels.items():
            labels[f"{half.part}.{kind}" if kind in labels else kind] = label
    return labels
