"""The verdict's sentences, one function a topic, each made from rows of the other tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.coverage import ALL, COVERAGE
from rewardable.measure.curves import BEST, PASS, SOLUTIONS, SUPPORT
from rewardable.measure.estimates import SIMULTANEOUS
from rewardable.measure.rows import FALL, NONE, certified
from rewardable.measure.study import FUTURE, TaskStudy
from rewardable.measure.trainability import TRAINABILITY
from rewardable.measure.words import PERCENT, PROMPTS, SHARE, Unit, amount, brief, change, listing
from rewardable.results import Estimate, Label, Row, Table

BUDGETS = ("curves", "differences")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One sentence, what it is about, and the estimate it speaks of.

    name: the quantity in short ("support@64"). tone: rise, fall or none.
    """

    topic: str
    name: str
    text: str
    estimate: Estimate
    tone: str = NONE


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
    """State support@k, coverage@k of solutions (else their number) and best@k of scores."""
    k = source.task.headline_k
    common: dict[str, Label] = {"k": k, "band": SIMULTANEOUS}
    prompts = ("support", f"support@{k} (of {pair.before.n_prompts} prompts)")
    support = compare(source, pair, prompts, BUDGETS, {**common, "metric": SUPPORT}, unit=PROMPTS)
    labels = {**common, "metric": COVERAGE, "kind": "solution", "scope": ALL}
    named = ("coverage", f"coverage@{k} of solutions")
    covered = compare(source, pair, named, ("coverage", "coverage"), labels)
    if not covered:
        named = ("coverage", f"distinct rewarded solutions in {k} samples")
        covered = compare(source, pair, named, BUDGETS, {**common, "metric": SOLUTIONS})
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
        noun = "prompt" if total == 1 else "prompts"
        rest = f"; {listing(others)}" if others else ""
        text = f"{counts['lost']} of {total} {noun} certified lost{rest} ({control}). {power}"
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


def ungraded(source: Source, pair: Pair) -> list[Claim]:
    """State what the ungraded rollouts could change."""
    missing = pair.before.n_ungraded + pair.after.n_ungraded
    if not missing:
        return []
    k = source.task.headline_k
    labels: dict[str, Label] = {"metric": SUPPORT, "k": k, "band": SIMULTANEOUS}
    estimate = source.of("differences", pair, **labels) or Estimate(value=None)
    total = len(pair.before.samples.prompt_R) + len(pair.after.samples.prompt_R)
    text = f"{missing} of {total} rollouts are ungraded and in no estimate"
    if estimate.bound_low is not None and estimate.bound_high is not None:
        low, high = (PROMPTS.number(end, signed=True) for end in
                     (estimate.bound_low, estimate.bound_high))  # fmt: skip
        text += f"; whatever they are, the change of support@{k} lies between {low} and {high}"
    return [Claim(topic="ungraded", name="ungraded", text=f"{text}.", estimate=estimate)]


def description(source: Source, arm: Arm) -> list[Claim]:
    """State what one policy alone reaches."""
    k, group = source.task.headline_k, source.config.group
    at_k: dict[str, Label] = {"k": k, "band": SIMULTANEOUS}
    prompts = f"support@{k} (of {arm.n_prompts} prompts)"
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
