"""A sample stratified by what two verifiers say, and the error rates that judgements of it give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rewardable.errors import ConfigError
from rewardable.metrics import binomial_interval
from rewardable.records import Outcome
from rewardable.results import Estimate

LEVEL = 0.95
LEAST = 2
"""Rows that a stratum needs at least, where it has so many."""

METHOD = (
    "share of rollouts, stratified by the verdicts of both verifiers and weighted by stratum size; "
    "Clopper-Pearson in each stratum at a level split between them, so that the whole holds at 95 %"
)


class Stratum(NamedTuple):
    """Rollouts on which the verifier says ``own`` and the other one ``twin`` (empty: no other)."""

    own: str
    twin: str

    @property
    def differs(self) -> bool:
        """True when there is another verifier and it says something else."""
        return bool(self.twin) and self.twin != self.own


@dataclass(frozen=True, kw_only=True, slots=True)
class Tallied:
    """Judged rows of a stratum of ``size`` rollouts: how many were right; how many skipped."""

    size: int
    right: int = 0
    wrong: int = 0
    skipped: int = 0

    @property
    def n(self) -> int:
        """Rows judged."""
        return self.right + self.wrong


def allocate(sizes: Mapping[Stratum, int], n: int) -> dict[Stratum, int]:
    """Return how many rows to draw of each stratum.

    Half of them go to the strata on which the verifiers differ, evenly, the rest evenly to the
    others; what one side cannot fill goes to the other. Every stratum gets a few.

    Raises
    ------
    ConfigError: fewer than LEAST a stratum.
    """
    if n < LEAST * len(sizes):
        raise ConfigError(
            f"a sample of {n} is too small for {len(sizes)} strata; draw at least "
            f"{LEAST * len(sizes)} with -n."
        )
    drawn = {stratum: min(size, LEAST) for stratum, size in sizes.items()}
    differing = [stratum for stratum in sizes if stratum.differs]
    agreeing = [stratum for stratum in sizes if not stratum.differs]
    half = n // 2 - sum(drawn[stratum] for stratum in differing)
    _fill(drawn, sizes, differing, max(0, half))
    for group in (agreeing, differing):
        _fill(drawn, sizes, group, n - sum(drawn.values()))
    return drawn


def _fill(
    drawn: dict[Stratum, int],
    sizes: Mapping[Stratum, int],
    group: Sequence[Stratum],
    budget: int,
) -> None:
    """Hand out rows one by one, always to the stratum with the fewest that still has some."""
    for _ in range(budget):
        open_ = [stratum for stratum in group if drawn[stratum] < sizes[stratum]]
        if not open_:
            return
        drawn[min(open_, key=lambda stratum: (drawn[stratum], stratum))] += 1


def error_rate(
    strata: Mapping[Stratum, Tallied], errors: Mapping[Stratum, str], n_prompts: int
) -> Estimate:
    """Return the weighted share of errors over the strata that ``errors`` names.

    errors: stratum -> which judgement is an error there, ``right`` or ``wrong``.
    """
    chosen = {stratum: strata[stratum] for stratum in errors if strata[stratum].size}
    total = sum(one.size for one in chosen.values())
    counted = sum(one.n for one in chosen.values())
    skipped = sum(one.skipped for one in chosen.values())
    sizes = {"n_prompts": n_prompts, "n_graded": counted, "n_ungraded": skipped}
    if not total:
        return Estimate(value=None, method=METHOD, warnings=("no rollout of this kind",), **sizes)
    value = low = high = 0.0
    open_ = sum(one.n < one.size for one in chosen.values())
    for stratum, one in chosen.items():
        weight, wrong = one.size / total, getattr(one, errors[stratum])
        below, above = _ends(one, wrong, 1 - (1 - LEVEL) / max(open_, 1))
        value += weight * (wrong / one.n if one.n else 0.0)
        low, high = low + weight * below, high + weight * above
    warnings = _warnings(chosen)
    known = all(one.n for one in chosen.values())
    return Estimate(
        value=value if known else None,
        low=low,
        high=high,
        level=LEVEL,
        method=METHOD,
        warnings=warnings,
        **sizes,
    )


def _ends(one: Tallied, wrong: int, level: float) -> tuple[float, float]:
    if one.n == one.size:
        return wrong / one.n, wrong / one.n
    low, high = binomial_interval([one.n], [wrong], level)
    return float(low[0]), float(high[0])


def _warnings(chosen: Mapping[Stratum, Tallied]) -> tuple[str, ...]:
    bare = [f"{s.own}/{s.twin}" if s.twin else s.own for s, one in chosen.items() if not one.n]
    skipped = sum(one.skipped for one in chosen.values())
    found: list[str] = []
    if bare:
        found.append(f"nothing judged yet of {', '.join(bare)}")
    if skipped:
        found.append(f"{skipped} rows skipped; the rate is of those that could be judged")
    return tuple(found)


def errors_of(strata: Iterable[Stratum], side: str, said: Iterable[str]) -> dict[Stratum, str]:
    """Return the strata in which a side's verdict is among ``said``, with what is an error there.

    side: ``own`` or ``twin``.
    """
    wanted = set(said)
    found: dict[Stratum, str] = {}
    for stratum in strata:
        verdict = stratum.own if side == "own" else stratum.twin
        if verdict in wanted:
            found[stratum] = "wrong" if verdict == Outcome.CORRECT else "right"
    return found
