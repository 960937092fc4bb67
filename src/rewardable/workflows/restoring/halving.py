"""Successive halving on common random prompts, and the choice. No sampling, no files."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from rewardable.errors import ConfigError
from rewardable.metrics import Interval, NonInferiority

LEAST_PROMPTS = 8
FINALISTS = 3
KEEPS = (2, 3, 4)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """All ``entrants`` are known on the first ``prompts`` prompts when the rung ends."""

    prompts: int
    entrants: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The rungs, and their cost in (policy, prompt) visits; the trained checkpoint's are in it."""

    rungs: tuple[Rung, ...]
    visits: int
    grid: int

    @property
    def share(self) -> float:
        """Visits over those of the full grid."""
        return self.visits / self.grid


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """What is known of a candidate against the trained checkpoint, on the same prompts.

    gain: paired change of the objective. kept: of pass@1, against the margin.
    """

    name: str
    n_prompts: int
    gain: Interval
    kept: NonInferiority

    @property
    def rank(self) -> float:
        """The gain, a gain above 0 times the chance that pass@1 is within the margin."""
        gain = self.gain.mean
        return gain * self.kept.chance if gain > 0 else gain


@dataclass(frozen=True, kw_only=True, slots=True)
class Halving:
    """last: the last standing of every candidate that had one. finalists: best rank first."""

    last: Mapping[str, Standing]
    finalists: tuple[str, ...]
    visits: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """name: None where no candidate may be chosen. margin: what the choice was certified at.

    widened: the prompts do not carry the margin that was asked for, so a wider one was taken.
    """

    name: str | None
    margin: float
    asked: float
    widened: bool


def plan_rungs(candidates: int, prompts: int, share: float) -> Schedule:
    """Return the schedule with the fewest rungs whose visits are within ``share`` of the grid.

    Each rung doubles the prompts and keeps a half, third or fourth of the candidates, at least
    three. Where no schedule is within the share, the cheapest is returned.
    """
    if candidates < 1 or prompts < LEAST_PROMPTS:
        raise ConfigError(
            f"a search needs a candidate and {LEAST_PROMPTS} prompts, got {candidates}, {prompts}."
        )
    found: list[Schedule] = []
    rungs = 1
    while rungs == 1 or prompts / 2 ** (rungs - 1) >= LEAST_PROMPTS:
        for keep in KEEPS:
            found.append(_schedule(candidates, prompts, rungs, keep))
            if found[-1].share <= share:
                return found[-1]
        rungs += 1
    return min(found, key=lambda one: one.visits)


def _schedule(candidates: int, prompts: int, rungs: int, keep: int) -> Schedule:
    sizes = [math.ceil(prompts / 2 ** (rungs - 1 - i)) for i in range(rungs)]
    entrants = [min(candidates, max(FINALISTS, math.ceil(candidates / keep**i)))
                for i in range(rungs)]  # fmt: skip
    steps = [new - old for old, new in zip([0, *sizes], sizes, strict=False)]
    visits = sum((count + 1) * step for count, step in zip(entrants, steps, strict=True))
    made = tuple(Rung(prompts=p, entrants=e) for p, e in zip(sizes, entrants, strict=True))
    return Schedule(rungs=made, visits=visits, grid=candidates * prompts)


Look = Callable[[str, int], Standing | None]
"""Told (candidate, prompts): its standing on the first so many prompts, None if it has none."""


def halve(
    names: Sequence[str], schedule: Schedule, look: Look, protect: Collection[str] = ()
) -> Halving:
    """Look at all, keep the best, look closer. The best of ``protect`` always goes on.

    A candidate that has no standing leaves; nothing takes its place.
    """
    last: dict[str, Standing] = {}
    alive, visits, before = list(names), 0, 0
    for place, rung in enumerate(schedule.rungs):
        if place:
            alive = _best(alive, last, rung.entrants, protect)
        visits += rung.prompts - before
        kept: list[str] = []
        for name in alive:
            standing = look(name, rung.prompts)
            if standing is not None:
                last[name] = standing
                kept.append(name)
                visits += rung.prompts - before
        alive, before = kept, rung.prompts
    return Halving(last=last, finalists=tuple(_sorted(alive, last)), visits=visits)


def _sorted(names: Sequence[str], last: Mapping[str, Standing]) -> list[str]:
    return sorted(names, key=lambda name: -last[name].rank)


def _best(
    names: Sequence[str], last: Mapping[str, Standing], count: int, protect: Collection[str]
) -> list[str]:
    ordered = _sorted(names, last)
    kept = ordered[:count]
    guarded = [name for name in ordered if name in protect]
    if guarded and not set(kept) & set(protect):
        kept[-1:] = guarded[:1]
    return kept


def choose(finals: Sequence[Standing], margin: float) -> Choice:
    """Choose the largest gain among candidates that are certified not to lose more.

    Where half of the finalists or more cannot carry ``margin``, the median of what they carry
    takes its place. A candidate must also show a change of pass@1 above -``margin`` and a gain
    above 0. The choice's own figures are too good, as those of any winner: prove it elsewhere.
    """
    if not finals:
        return Choice(name=None, margin=margin, asked=margin, widened=False)
    carried = sorted(one.kept.carried for one in finals)
    taken = max(margin, carried[(len(carried) - 1) // 2])
    fit = [
        one
        for one in finals
        if one.kept.low > -taken and one.kept.difference > -margin and one.gain.mean > 0
    ]
    best = max(fit, key=lambda one: one.gain.mean, default=None)
    name = best.name if best is not None else None
    return Choice(name=name, margin=taken, asked=margin, widened=taken > margin)
