"""The verdict's sentences, one function a topic, each made from rows of the other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rewardable.measure.arms import TEXT, Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.coverage import ALL, COVERAGE
from rewardable.measure.curves import BEST, PASS, SOLUTIONS, SUPPORT, solution_kind
from rewardable.measure.estimates import SIMULTANEOUS
from rewardable.measure.rows import FALL, NONE, certified
from rewardable.measure.study import FUTURE, TaskStudy
from rewardable.measure.trainability import TRAINABILITY
from rewardable.measure.words import (
    PERCENT,
    PROMPTS,
    SHARE,
    Unit,
    amount,
    brief,
    change,
    listing,
    plural,
)
from rewardable.results import Estimate, Label, Row, Table
from rewardable.store import NOT_GRADED

BUDGETS = ("curves", "differences")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence, what it is about, and the estimate it speaks of.

    name: the quantity in short ("support@64"). tone: rise, fall or none. headline: whether the
    plain sentence may speak of it.
    """

    topic: str
    name: str
    text: str
    estimate: Estimate
    tone: str = NONE
    headline: bool = True

    @property
    def told(self) -> bool:
        """Whether the estimate has an interval, so that a change can be told or not be shown."""
        return self.estimate.low is not None and self.estimate.high is not None


@dataclass(frozen=True)
class Source:
    """The tables of a task, and how to look rows up in them."""

    tables: Mapping[str, Table]
    task: TaskStudy
    config: MeasureConfig

    @property
    def title(self) -> str:
        """Name the task in a sentence: without its options where that is enough."""
        tasks = (self.config.main_task or self.task.task, *self.config.future_tasks)
        return brief(self.task.task, tasks)

    def rows(self, table: str, **labels: Label) -> tuple[Row, ...]:
        """Return rows of a table of this task."""
        return self.tables[table].select(**{"task": self.task.task, **labels})

    def of(self, table: str, subject: Arm | Pair, **labels: Label) -> Estimate | None:
        """Return the estimate of an arm or a pair; None where the table has none."""
        found = self.rows(table, **subject.labels, **labels)
        return found[0].estimate if found else None

    def sides(
        self, pair: Pair, arms: str, pairs: str, **labels: Label
    ) -> tuple[Estimate, Estimate, Estimate] | None:
        """Return the estimates of before, after and their difference."""
        before, after = (self.of(arms, arm, **labels) for arm in (pair.before, pair.after))
        difference = self.of(pairs, pair, **labels)
        if before is None or after is None or difference is None:
            return None
        return before, after, difference


def compare(
    source: Source,
    pair: Pair,
    named: tuple[str, str],
    where: tuple[str, str],
    labels: Mapping[str, Label],
    unit: Unit = SHARE,
) -> list[Claim]:
    """Say what happened to one quantity of a pair; nothing where it was not measured.

    named: topic and name of the quantity. where: the tables of the arms and of the pairs.
    """
    found = source.sides(pair, *where, **labels)
    if found is None:
        return []
    topic, name = named
    text = _capital(f"{change(name, *found, unit)}.")
    tone = certified(found[2])
    return [Claim(topic=topic, name=name, text=text, estimate=found[2], tone=tone)]


def _capital(text: str) -> str:
    return text if text.startswith(("pass@", "support@", "best@")) else text[0].upper() + text[1:]


def rate(source: Source, pair: Pair) -> list[Claim]:
    """State what happened to pass@1."""
    labels: dict[str, Label] = {"metric": PASS, "k": 1, "band": SIMULTANEOUS}
    return compare(source, pair, ("pass", "pass@1"), BUDGETS, labels)


def reach(source: Source, pair: Pair) -> list[Claim]:
    """State support@k, coverage@k of solutions (else their number) and best@k of scores.

    Where nothing tells solutions apart but their texts, the headline leaves their number out.
    """
    k = source.task.headline_k
    common: dict[str, Label] = {"k": k, "band": SIMULTANEOUS}
    prompts = ("support", f"support@{k} (of {plural(pair.before.n_prompts, 'prompt')})")
    support = compare(source, pair, prompts, BUDGETS, {**common, "metric": SUPPORT}, unit=PROMPTS)
    k = source.task.common_k
    common = {"k": k, "band": SIMULTANEOUS}
    labels = {**common, "metric": COVERAGE, "kind": "solution", "scope": ALL}
    named = ("coverage", f"coverage@{k} of solutions")
    covered = compare(source, pair, named, ("coverage", "coverage"), labels)
    if not covered:
        texts = solution_kind(source.task) == TEXT
        noun = "texts" if texts else "solutions"
        named = ("coverage", f"distinct rewarded {noun} in {plural(k, 'sample')}")
        found = compare(source, pair, named, BUDGETS, {**common, "metric": SOLUTIONS})
        covered = [replace(claim, headline=not texts) for claim in found]
    labels = {**common, "metric": BEST}
    scores = compare(source, pair, ("best", f"best@{k}"), BUDGETS, labels)
    return [*support, *covered, *scores]


def transitions(source: Source, pair: Pair) -> list[Claim]:
    """How many prompts are certified lost, and what that count could have missed."""
    found = source.rows("transitions", **pair.labels, kind="summary")
    counts = {str(row.labels["call"]): int(row.estimate.value or 0) for row in found}
    if not counts:
        return []
    total, rate = sum(counts.values()), 1 - source.config.level
    lost = next(row.estimate for row in found if row.labels["call"] == "lost")
    others = [f"{counts[call]} {call}" for call in ("reduced", "gained", "raised") if counts[call]]
    control = f"false-discovery rate {PERCENT.number(rate)} %"
    power = _power(source, pair)
    if counts["lost"]:
        text = f"{counts['lost']} of {plural(total, 'prompt')} certified lost{_with(others)} "
        text += f"({control}). {power}"
        return [
            Claim(topic="transitions", name="lost prompts", text=text, estimate=lost, tone=FALL)
        ]
    text = f"No prompt is certified lost{_with(others)} ({control}). {power}"
    text += " None certified is no proof that none is lost."
    return [Claim(topic="transitions", name="lost prompts", text=text, estimate=lost)]


def _with(others: list[str]) -> str:
    return f"; {listing(others)}" if others else ""


def _power(source: Source, pair: Pair) -> str:
    found = source.rows("transitions", **pair.labels, kind="power")
    return " ".join(str(row.labels["text"]) for row in found[:1])


def trainability(source: Source, pair: Pair) -> list[Claim]:
    """Which share of groups would show reward variation."""
    found = source.sides(pair, "trainability", "trainability", metric=TRAINABILITY)
    if found is None:
        return []
    before, after, difference = found
    name = f"trainability in groups of {source.config.group}"
    if difference.value is None:
        text = f"Reward variation in groups of {source.config.group}: {amount(difference)}."
        return [Claim(topic="trainability", name=name, text=text, estimate=difference)]
    tone = certified(difference)
    moved = f"difference {amount(difference, PERCENT, signed=True)}"
    moved += "" if tone != NONE or difference.low is None else ", no change shown"
    text = (
        f"{amount(after, PERCENT)} of groups of {source.config.group} would show reward "
        f"variation, was {amount(before, PERCENT)} ({moved})."
    )
    return [Claim(topic="trainability", name=name, text=text, estimate=difference, tone=tone)]


def ungraded(source: Source, subject: Pair | Arm) -> list[Claim]:
    """State how many rollouts are ungraded, what that leaves out and what it could change.

    Rollouts of prompts that are left out count too.
    """
    arms = (subject,) if isinstance(subject, Arm) else (subject.before, subject.after)
    missing, aside = sum(arm.all_ungraded for arm in arms), len(arms[0].aside.n_P)
    if not missing and not aside:
        return []
    total = sum(arm.all_rollouts for arm in arms)
    text = f"{missing} of {plural(total, 'rollout')} "
    text += "is ungraded" if missing == 1 else "are ungraded"
    text += " and in no estimate"
    if aside:
        verb = "is" if aside == 1 else "are"
        text += f"; {plural(aside, 'prompt')} {verb} left out for having no graded rollout"
        text += "" if isinstance(subject, Arm) else " of some policy"
    limits, estimate = _limits(source, subject)
    text += limits
    if any(arm.samples.reasons.get(NOT_GRADED) for arm in arms):
        text += "; some rollouts were never graded: run rewardable grade"
    return [Claim(topic="ungraded", name="ungraded", text=f"{text}.", estimate=estimate)]


def _limits(source: Source, subject: Pair | Arm) -> tuple[str, Estimate]:
    """Say between which values pass@1 and support@k lie; the estimate is support's."""
    k = source.task.headline_k
    alone = isinstance(subject, Arm)
    support = Estimate(value=None)
    parts: list[str] = []
    for name, metric, at, unit in (
        ("pass@1", PASS, 1, SHARE),
        (f"support@{k}", SUPPORT, k, PROMPTS),
    ):
        labels: dict[str, Label] = {"metric": metric, "k": at, "band": SIMULTANEOUS}
        estimate = source.of("curves" if alone else "differences", subject, **labels)
        if estimate is None or estimate.bound_low is None or estimate.bound_high is None:
            continue
        support = estimate
        low, high = (unit.number(end, signed=not alone) for end in
                     (estimate.bound_low, estimate.bound_high))  # fmt: skip
        parts.append(f"{name} lies between {low} and {high}")
    told = listing(parts if alone else [f"the change of {part}" for part in parts])
    return f"; whatever they are, {told}" if parts else "", support


def description(source: Source, arm: Arm) -> list[Claim]:
    """State what one policy alone reaches."""
    k, group = source.task.headline_k, source.config.group
    at_k: dict[str, Label] = {"k": k, "band": SIMULTANEOUS}
    prompts = f"support@{k} (of {plural(arm.n_prompts, 'prompt')})"
    share = f"groups of {group} that would show reward variation"
    wanted = (
        ("pass", "pass@1", SHARE, "curves", {"metric": PASS, "k": 1, "band": SIMULTANEOUS}),
        ("support", prompts, PROMPTS, "curves", {"metric": SUPPORT, **at_k}),
        ("coverage", f"coverage@{k} of solutions", SHARE, "coverage",
         {"metric": COVERAGE, "kind": "solution", "scope": ALL, **at_k}),
        ("trainability", share, PERCENT, "trainability", {"metric": TRAINABILITY}),
    )  # fmt: skip
    found = [(*one[:3], source.of(one[3], arm, **one[4])) for one in wanted]
    return [
        Claim(topic=topic, name=name, text=_capital(f"{name}: {amount(estimate, unit)}."),
              estimate=estimate)
        for topic, name, unit, estimate in found
        if estimate is not None
    ]  # fmt: skip


def is_future(source: Source) -> bool:
    """Whether the task stands for training yet to come."""
    return source.task.role == FUTURE
