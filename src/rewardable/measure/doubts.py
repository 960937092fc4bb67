"""The verdict's second thoughts: shape, other temperatures, and what a token limit could fake."""

from __future__ import annotations

from collections.abc import Mapping

from rewardable.measure.arms import Pair
from rewardable.measure.clauses import Claim, Source, compare
from rewardable.measure.coverage import ALL, COVERAGE
from rewardable.measure.curves import PASS, SUPPORT
from rewardable.measure.estimates import SIMULTANEOUS
from rewardable.measure.rows import FALL, NONE, RISE, certified
from rewardable.measure.shape import DISTINCT, FIRST_ENTROPY, MEAN_ENTROPY, QUICK, TRUNCATED
from rewardable.measure.truncation import AS_WRONG, JUDGED, LEFT_OUT
from rewardable.measure.words import COUNT, NATS, PROMPTS, SHARE, Unit, amount
from rewardable.results import Estimate, Label

UNKNOWN = "unknown"
WORDS = {RISE: "a rise", FALL: "a fall", NONE: "no change", UNKNOWN: "nothing that can be told"}


def shape(source: Source, pair: Pair) -> list[Claim]:
    """Entropy and distinct outputs."""
    where = ("shape", "shape")
    k = min(QUICK, *(int(arm.rollouts_P.min()) for arm in source.task.arms))
    wanted: tuple[tuple[str, str, int, Unit], ...] = (
        ("first-token entropy", FIRST_ENTROPY, 0, NATS),
        ("mean entropy per token", MEAN_ENTROPY, 0, NATS),
        (f"distinct outputs in {k} samples", DISTINCT, k, COUNT),
    )
    return [
        claim
        for name, metric, at, unit in wanted
        for claim in compare(
            source, pair, ("shape", name), where, {"metric": metric, "k": at}, unit=unit
        )
    ]


def temperatures(source: Source, pair: Pair) -> list[Claim]:
    """State whether sampling the trained policy differently gives the base's reach back.

    Told by coverage of the known solutions, where none are known by support.
    """
    k = source.task.common_k
    at_k: dict[str, Label] = {"k": k, "band": SIMULTANEOUS}
    covered: dict[str, Label] = {**at_k, "metric": COVERAGE, "kind": "solution", "scope": ALL}
    return _across(source, pair, "coverage", f"coverage@{k} of solutions", covered) or _across(
        source, pair, "differences", f"support@{k}", {**at_k, "metric": SUPPORT}
    )


def _across(
    source: Source, pair: Pair, table: str, name: str, labels: dict[str, Label]
) -> list[Claim]:
    found = [
        (other, source.of(table, other, **labels))
        for other in source.task.cross_pairs
        if other.before == pair.before and other.after.policy_key == pair.after.policy_key
    ]
    unit = PROMPTS if table == "differences" else SHARE
    parts = [
        f"at {other.after.spec} {WORDS[_called(estimate)]} ({amount(estimate, unit, signed=True)})"
        for other, estimate in found
        if estimate is not None
    ]
    if not parts:
        return []
    text = (
        f"Against {pair.before.policy} at {pair.before.spec}, {name} of {pair.after.policy} "
        f"shows {'; '.join(parts)}."
    )
    first = next(estimate for _, estimate in found if estimate is not None)
    return [Claim(topic="temperature", name=name, text=text, estimate=first)]


def truncation(source: Source, pair: Pair) -> list[Claim]:
    """Say when a call depends on how truncated answers are read."""
    rates = [source.of("truncation", arm, metric=TRUNCATED) for arm in (pair.before, pair.after)]
    if not any(rate is not None and rate.value for rate in rates):
        return []
    text = "The token limit cut off " + " and ".join(
        f"{amount(rate, Unit(decimals=1, factor=100, suffix=' %'))} of {arm.policy}"
        for rate, arm in zip(rates, (pair.before, pair.after), strict=True)
        if rate is not None
    )
    k = source.task.common_k
    found = {reading: _call(source, pair, k, reading) for reading in (JUDGED, AS_WRONG, LEFT_OUT)}
    calls = {reading: _called(estimate) for reading, estimate in found.items()}
    estimate = found[LEFT_OUT]
    if set(calls.values()) == {UNKNOWN}:
        text += f"; what happened to pass@{k} cannot be told, however those are read."
        return [Claim(topic="truncation", name="truncation", text=text, estimate=estimate)]
    if calls[LEFT_OUT] == UNKNOWN:
        text += f", and pass@{k} cannot be told without them: {_told(calls)}. Raise the limit."
        return [
            Claim(topic="truncation", name="truncation", text=text, estimate=estimate, tone=FALL)
        ]
    if len(set(calls.values())) == 1:
        text += f"; the call on pass@{k} is the same with those counted as wrong or left out."
        return [Claim(topic="truncation", name="truncation", text=text, estimate=estimate)]
    text += f", and pass@{k} depends on them: {_told(calls)}."
    text += " Raise the limit before trusting either."
    return [Claim(topic="truncation", name="truncation", text=text, estimate=estimate, tone=FALL)]


def _told(calls: Mapping[str, str]) -> str:
    parts = [f"{WORDS[call]} with them {reading}" for reading, call in calls.items()
             if (reading, call) != (LEFT_OUT, UNKNOWN)]  # fmt: skip
    told = ", ".join(parts)
    if calls[LEFT_OUT] == UNKNOWN:
        told += "; with them left out nothing is left to judge by"
    return told


def _called(estimate: Estimate) -> str:
    """Return the call; unknown where there is no value or no interval."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return UNKNOWN
    return certified(estimate)


def _call(source: Source, pair: Pair, k: int, reading: str) -> Estimate:
    found = source.of("truncation", pair, metric=PASS, k=k, truncated=reading)
    return found or Estimate(value=None)
