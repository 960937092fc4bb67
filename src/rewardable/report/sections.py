"""The page's sections as plain values for the template: words, cells, figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rewardable.report import details, figures, grids, panels
from rewardable.report.cells import Grid
from rewardable.report.figures import Figure
from rewardable.report.numbers import sentence
from rewardable.report.pick import Tables
from rewardable.results import Example, Label, Row

TONES = {"rise": "up", "fall": "down", "none": "flat"}


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence of the verdict; ``mark`` is up, down or flat."""

    text: str
    mark: str
    topic: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The verdict on one pair (or one policy) on one task."""

    task: str
    role: str
    subject: str
    headline: bool
    plain: Sentence
    rest: tuple[Sentence, ...]


@dataclass(frozen=True, kw_only=True)
class TaskView:
    """Everything shown about one task."""

    name: str
    role: str
    reach: tuple[Figure, ...]
    reach_grids: tuple[Grid, ...]
    prompts: tuple[Figure, ...]
    prompts_grids: tuple[Grid, ...]
    power: tuple[str, ...]
    trainability: tuple[Figure, ...]
    trainability_grids: tuple[Grid, ...]
    coverage: tuple[Figure, ...]
    coverage_grids: tuple[Grid, ...]
    specs: tuple[Figure, ...]
    spec_grids: tuple[Grid, ...]
    dynamics: tuple[Grid, ...]
    polarisation: tuple[Grid, ...]
    shape: tuple[Grid, ...]
    truncation: tuple[Grid, ...]
    examples: tuple[ExampleView, ...]


@dataclass(frozen=True, kw_only=True)
class ExampleView:
    """One prompt with rollouts before and after."""

    prompt: str
    key: str
    call: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One policy's rollouts of a prompt."""

    policy: str
    score: str
    rollouts: tuple[Mapping[str, Label], ...] = field(default=())


def verdict(tables: Tables) -> list[Comparison]:
    """Group the verdict's sentences by comparison, in order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in tables.table("verdict").rows:
        subject = str(row.labels.get("after", row.labels.get("policy", "")))
        groups.setdefault((str(row.labels["task"]), subject), []).append(row)
    return [_comparison(task, subject, rows) for (task, subject), rows in groups.items()]


def _comparison(task: str, subject: str, rows: Sequence[Row]) -> Comparison:
    said = [
        Sentence(
            text=sentence(str(row.labels["text"])),
            mark=TONES.get(str(row.labels["tone"]), "flat"),
            topic=str(row.labels["topic"]),
        )
        for row in rows
    ]
    return Comparison(
        task=task,
        role=str(rows[0].labels["role"]),
        subject=subject,
        headline=bool(rows[0].labels["headline"]),
        plain=said[0],
        rest=tuple(said[1:]),
    )


def gates(tables: Tables) -> list[Sentence]:
    """Return how each gate came out, in order."""
    marks = {"failed": "down", "held": "up"}
    return [
        Sentence(
            text=sentence(str(row.labels["text"])),
            mark=marks.get(str(row.labels["outcome"]), "flat"),
            topic="gate",
        )
        for row in tables.rows("gates")
    ]


def task_view(tables: Tables, task: str) -> TaskView:
    """Collect the figures, grids and examples of one task."""
    return TaskView(
        name=task,
        role=tables.role(task),
        reach=_reach(tables, task),
        reach_grids=grids.reach(tables, task),
        prompts=_some(figures.calls(tables, task), figures.scatter(tables, task)),
        prompts_grids=details.calls(tables, task),
        power=_power(tables, task),
        trainability=_trainability(tables, task),
        trainability_grids=details.trainability(tables, task),
        coverage=_coverage(tables, task),
        coverage_grids=(*grids.coverage(tables, task), *panels.richness(tables, task)),
        dynamics=panels.dynamics(tables, task),
        polarisation=(*panels.polarisation(tables, task), *panels.models(tables, task)),
        specs=_specs(tables, task),
        spec_grids=details.specs(tables, task),
        shape=details.shape(tables, task),
        truncation=details.truncation(tables, task),
        examples=tuple(examples(tables, task)),
    )


def _some(*found: Figure | None) -> tuple[Figure, ...]:
    return tuple(figure for figure in found if figure is not None)


def _reach(tables: Tables, task: str) -> tuple[Figure, ...]:
    return _some(
        figures.arm_curves(
            tables, task, "pass@k",
            "Chance that k samples of a prompt hold at least one success, averaged over prompts.",
            "curves", metric="pass@k",
        ),
        figures.pair_curves(
            tables, task, "pass@k, trained minus base",
            "Paired difference by prompt: above zero the trained policy reaches more.",
            "differences", metric="pass@k",
        ),
        figures.arm_curves(
            tables, task, "Best score within k", "Expected best score among k samples.",
            "curves", metric="best@k",
        ),
    )  # fmt: skip


def _coverage(tables: Tables, task: str) -> tuple[Figure, ...]:
    common: dict[str, Label] = {"metric": "coverage@k", "scope": "all prompts"}
    words = {
        "solution": ("Coverage of solutions",
                     "Share of the existing solutions that k samples find."),
        "entry": ("Coverage of entry families",
                  "Share of the ways to begin that k samples turn into a success."),
    }  # fmt: skip
    kinds = dict.fromkeys(str(r.labels["kind"]) for r in tables.rows("coverage", task=task))
    drawn = [
        figures.arm_curves(
            tables, task, words.get(kind, (f"Coverage of {kind}", ""))[0],
            words.get(kind, ("", f"Share of the existing labels {kind} that k samples find."))[1],
            "coverage", **common, kind=kind,
        )
        for kind in kinds
    ]  # fmt: skip
    if not kinds:
        drawn.append(
            figures.arm_curves(
                tables, task, "Distinct rewarded solutions",
                "Expected number of different right answers among k samples of a prompt.",
                "curves", metric="solutions@k",
            )
        )  # fmt: skip
    return _some(*drawn)


def _trainability(tables: Tables, task: str) -> tuple[Figure, ...]:
    rows = tables.rows("trainability", task=task, metric="trainability")
    group = rows[0].labels["group"] if rows else 0
    heading = f"Groups of {group} with reward variation"
    what = "Expected share of groups that hold both a success and a failure."
    return _some(
        figures.dots(tables, task, heading, what, "trainability", percent=True,
                     metric="trainability")
    )  # fmt: skip


def _specs(tables: Tables, task: str) -> tuple[Figure, ...]:
    if len(tables.specs(task)) < 2:
        return ()
    return _some(
        *(
            figures.spec_curves(tables, task, f"pass@k of {policy}",
                                "One curve a sampling specification.", policy)
            for policy in tables.policies(task)
        )
    )  # fmt: skip


def _power(tables: Tables, task: str) -> tuple[str, ...]:
    after = tables.policies(task)[-1]
    rows = tables.rows("transitions", task=task, kind="power", after=after)
    return tuple(dict.fromkeys(str(row.labels["text"]) for row in rows))


def examples(tables: Tables, task: str) -> list[ExampleView]:
    """Group the quoted rollouts by prompt."""
    groups: dict[str, list[Example]] = {}
    for example in tables.table("examples").examples:
        if example.labels["task"] == task:
            groups.setdefault(str(example.labels["prompt"]), []).append(example)
    return [
        ExampleView(
            prompt=found[0].prompt,
            key=key,
            call=str(found[0].labels["call"]),
            sides=tuple(_side(found, side) for side in ("before", "after")),
        )
        for key, found in groups.items()
    ]


def _side(found: Sequence[Example], side: str) -> Side:
    mine = [example for example in found if example.labels["side"] == side]
    if not mine:
        return Side(policy=side, score="no rollout")
    labels = mine[0].labels
    return Side(
        policy=str(labels["policy"]),
        score=f"{labels['c']} of {labels['n']} right",
        rollouts=tuple({**example.labels, "text": example.completion} for example in mine),
    )
