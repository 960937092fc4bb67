"""Rank checkpoints by target success under constraints. Pure: estimates in, a choice out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewardable.errors import ConfigError
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
    def margin(self) -> float | None:
        """Distance of the estimate to the bound in units of the tolerated fall: 1 is no change."""
        if self.change.value is None:
            return None
        return (self.change.value - self.least) / (-self.least or 1.0)

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
    def success(self) -> float:
        """Target success by the estimate; unknown is less than any."""
        return -math.inf if self.target.value is None else self.target.value

    @property
    def worst(self) -> float:
        """The smallest margin of its constraints; 1 where it has none."""
        found = [one.margin for one in self.constraints if one.margin is not None]
        return min(found, default=1.0)


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
    of which some estimate lies beyond, though not certainly. Of equal ones the earlier stays first.

    Raises
    ------
    ConfigError: no candidate.
    """
    if not candidates:
        raise ConfigError("there is no checkpoint to rank.")
    ranked = tuple(sorted(candidates, key=_key))
    return Choice(ranked=ranked, pareto=pareto(candidates), reason=_reason(ranked))


def pareto(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the candidates that no other beats: at least as good in both, better in one."""

    def point(one: Candidate) -> tuple[float, float]:
        return (one.success, one.worst)

    def beaten(one: Candidate) -> bool:
        a = point(one)
        return any(b[0] >= a[0] and b[1] >= a[1] and b != a for b in map(point, candidates))

    return tuple(one.policy for one in candidates if not beaten(one))


def _key(one: Candidate) -> tuple[bool, bool, float]:
    return (bool(one.judged("violated")), one.worst < 0, -one.success)


def _reason(ranked: Sequence[Candidate]) -> str:
    best = ranked[0]
    shown = f"target success {_shown(best.target)}"
    if best.judged("violated"):
        return (
            f"No checkpoint keeps all constraints. {best.policy} comes first of those that do "
            f"not, {shown}; it breaks {_listed(best.judged('violated'))}. Go on from the base, or "
            "from an earlier checkpoint than was kept."
        )
    return " ".join([f"Continue from {best.policy}: {shown}; {_standing(best)}.", *_others(ranked)])


def _standing(best: Candidate) -> str:
    if not best.constraints:
        return "there are no constraints: name later tasks to have some"
    held, unsure = best.judged("holds"), best.judged("open")
    text = f"no constraint is certainly broken, {len(held)} of {len(best.constraints)} hold for"
    return f"{text} certain" + (f"; not shown either way: {_listed(unsure)}" if unsure else "")


def _others(ranked: Sequence[Candidate]) -> list[str]:
    """Say why each that succeeds more often does not come first."""
    return [
        f"{one.policy} succeeds more often ({_shown(one.target)}) but {_broken(one)}."
        for one in ranked[1:]
        if one.success > ranked[0].success
    ]


def _broken(one: Candidate) -> str:
    surely = one.judged("violated")
    if surely:
        return f"breaks {_listed(surely)}"
    beyond = [c for c in one.constraints if c.margin is not None and c.margin < 0]
    return f"may break {_listed(beyond)}"


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
