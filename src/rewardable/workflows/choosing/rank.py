"""Rank checkpoints by target success under constraints. Pure: estimates in, a choice out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewardable.results import Estimate

Judgement = Literal["holds", "open", "violated"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """A change against the base, and the least that is tolerated.

    change: after minus before; ``least``: minus the tolerated fall. judgement: ``holds`` when the
    whole interval lies above ``least``, ``violated`` when it lies below, ``open`` between.
    """

    name: str
    task: str
    change: Estimate
    least: float

    @property
    def judgement(self) -> Judgement:
        """What the interval says."""
        low, high = self.change.low, self.change.high
        if low is not None and low >= self.least:
            return "holds"
        if high is not None and high < self.least:
            return "violated"
        return "open"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A checkpoint. target: its success. constraints: against the base."""

    policy: str
    target: Estimate
    constraints: tuple[Constraint, ...]

    def judged(self, judgement: Judgement) -> tuple[Constraint, ...]:
        """Return the constraints that are so."""
        return tuple(one for one in self.constraints if one.judgement == judgement)

    @property
    def worst(self) -> float:
        """The smallest distance to a constraint's bound, by the estimates themselves."""
        found = [
            one.change.value - one.least for one in self.constraints if one.change.value is not None
        ]
        return min(found, default=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """ranked: candidates, the one to continue from first. pareto: names that none beats in both
    target and ``worst``. reason: in words.
    """

    ranked: tuple[Candidate, ...]
    pareto: tuple[str, ...]
    reason: str


def rank(candidates: Sequence[Candidate]) -> Choice:
    """Order candidates: none violated before some; within these the higher target.

    Among those with no violation, one whose estimates all lie within the bounds comes before one
    of which some estimate lies beyond, though not certainly.
    """
    ranked = tuple(sorted(candidates, key=_key))
    return Choice(ranked=ranked, pareto=pareto(candidates), reason=_reason(ranked))


def pareto(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the candidates that no other beats: at least as good in both, better in one."""

    def point(one: Candidate) -> tuple[float, float]:
        return (one.target.value or 0.0, one.worst)

    def beaten(one: Candidate) -> bool:
        a = point(one)
        return any(
            b[0] >= a[0] and b[1] >= a[1] and b != a for b in map(point, candidates)
        )

    return tuple(one.policy for one in candidates if not beaten(one))


def _key(one: Candidate) -> tuple[bool, bool, float]:
    return (bool(one.judged("violated")), one.worst < 0, -(one.target.value or 0.0))


def _reason(ranked: Sequence[Candidate]) -> str:
    best = ranked[0]
    text = f"Continue from {best.policy}: target success {_shown(best.target)}"
    violated, still_open = best.judged("violated"), best.judged("open")
    if violated:
        return (
            f"No checkpoint keeps all constraints. {best.policy} comes first of those that do "
            f"not, target success {_shown(best.target)}; it breaks {_listed(violated)}."
        )
    text += f"; no constraint is certainly broken ({len(best.judged('holds'))} hold for certain"
    text += f", not shown either way: {_listed(still_open)})." if still_open else ")."
    better = [
        one for one in ranked[1:] if (one.target.value or 0.0) > (best.target.value or 0.0)
    ]
    for one in better:
        why = one.judged("violated") or tuple(
            c for c in one.constraints if c.change.value is not None and c.change.value < c.least
        )
        text += f" {one.policy} succeeds more often ({_shown(one.target)}) but breaks "
        text += f"{_listed(why)}."
    return text


def _listed(constraints: Sequence[Constraint]) -> str:
    return "; ".join(
        f"{one.name} on {one.task} {_shown(one.change, signed=True)}, at least {one.least:+g}"
        for one in constraints
    )


def _shown(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.value is None:
        return "unknown"
    form = "+.2f" if signed else ".2f"
    if estimate.low is None or estimate.high is None:
        return format(estimate.value, form)
    low, high = format(estimate.low, form), format(estimate.high, form)
    return f"{format(estimate.value, form)} [{low}, {high}]"
