"""The tables of budgets and of headline figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewardable.report.cells import EMPTY, Cell, Grid, Line, cell, pair_cell
from rewardable.report.numbers import count
from rewardable.report.pick import SIMULTANEOUS, Tables
from rewardable.results import Estimate, Label


def _arm_line(head: str, found: Sequence[Estimate | None]) -> Line:
    return Line(head=head, cells=tuple(cell(estimate) for estimate in found))


def _pair_line(tables: Tables, head: str, source: str, columns: Sequence[dict[str, Label]]) -> Line:
    found = [next(iter(tables.pair_rows(source, **labels)), None) for labels in columns]
    return Line(head=head, cells=tuple(pair_cell(row) for row in found))


def scoreboard(tables: Tables) -> Grid:
    """Show the headline figures of every policy, all tasks side by side."""
    main = tables.tasks[0]
    wanted: list[tuple[str, Callable[[str], tuple[Estimate | None, bool]]]] = []
    for task in tables.tasks:
        k = tables.headline_k(task)
        prefix = "" if task == main else f"{task}: "
        wanted += [
            (prefix + head, _lookup(tables, task, source, labels, percent))
            for head, source, labels, percent in _headline(k, short=task != main)
        ]
    lines = [
        Line(head=policy, cells=tuple(cell(find(policy)[0], percent=find(policy)[1])
                                      for _, find in wanted))
        for policy in tables.policies(main)
    ]  # fmt: skip
    used = [i for i in range(len(wanted)) if any(line.cells[i] != EMPTY for line in lines)]
    return Grid(
        title="All policies at a glance",
        columns=tuple(wanted[i][0] for i in used),
        lines=tuple(Line(head=x.head, cells=tuple(x.cells[i] for i in used)) for x in lines),
        caption="Each number with its interval below it.",
    )


def _headline(k: int, *, short: bool) -> list[tuple[str, str, dict[str, Label], bool]]:
    def at(metric: str, budget: int) -> dict[str, Label]:
        return {"metric": metric, "band": SIMULTANEOUS, "k": budget}

    learns: dict[str, Label] = {"metric": "trainability"}
    covers = {**at("coverage@k", k), "kind": "solution", "scope": "all prompts"}
    last = ("trainability", "trainability", learns, True)
    if short:
        return [last]
    return [
        ("pass@1", "curves", at("pass@k", 1), False),
        (f"support@{k}", "curves", at("support@k", k), False),
        (f"solution coverage@{k}", "coverage", covers, False),
        ("first-token entropy", "shape", {"metric": "first-token entropy"}, False),
        last,
    ]


def _lookup(
    tables: Tables, task: str, source: str, labels: dict[str, Label], percent: bool
) -> Callable[[str], tuple[Estimate | None, bool]]:
    spec = tables.specs(task)[0]

    def find(policy: str) -> tuple[Estimate | None, bool]:
        return tables.estimate(source, task=task, policy=policy, spec=spec, **labels), percent

    return find


def overview(tables: Tables) -> Grid:
    """Show what was compared."""
    columns = ("prompts", "rollouts", "graded", "ungraded", "correct", "cut off")
    lines = [
        Line(
            head=f"{task}: {policy}, {spec}",
            cells=tuple(Cell(text=count(_value(tables, task, policy, spec, c))) for c in columns),
        )
        for task in tables.tasks
        for policy, spec in tables.arms(task)
    ]
    return Grid(title="What was compared", columns=columns, lines=tuple(lines))


def _value(tables: Tables, task: str, policy: str, spec: str, metric: str) -> float | None:
    labels = {"task": task, "policy": policy, "spec": spec, "metric": metric}
    found = tables.estimate("overview", **labels)
    return None if found is None else found.value


def _budgets(tables: Tables, task: str) -> list[int]:
    rows = tables.arm_rows("curves", task=task, metric="pass@k", band=SIMULTANEOUS)
    ks = sorted({int(str(row.labels["k"])) for row in rows})
    return [k for k in ks if k & (k - 1) == 0 or k == ks[-1]]


def _over_budgets(
    tables: Tables, task: str, title: str, sources: tuple[str, str], **labels: Label
) -> Grid | None:
    ks = _budgets(tables, task)
    if not tables.rows(sources[0], task=task, **labels):
        return None
    spec = tables.specs(task)[0]
    lines = [
        _arm_line(policy, [tables.estimate(sources[0], task=task, policy=policy, spec=spec,
                                           band=SIMULTANEOUS, k=k, **labels) for k in ks])
        for policy in tables.policies(task)
    ]  # fmt: skip
    before = tables.policies(task)[0]
    for after in tables.policies(task)[1:]:
        columns = [
            {"task": task, "before": before, "after": after, "spec": spec,
             "band": SIMULTANEOUS, "k": k, **labels}
            for k in ks
        ]  # fmt: skip
        lines.append(_pair_line(tables, f"{after} minus {before}", sources[1], columns))
    return Grid(
        title=title,
        columns=tuple(f"k = {k}" for k in ks),
        lines=tuple(lines),
        caption="Simultaneous intervals below the numbers; arrows mark certified changes.",
        folded=True,
    )


def some(*found: Grid | None) -> tuple[Grid, ...]:
    """Return the grids that there are."""
    return tuple(grid for grid in found if grid is not None)


def reach(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show every metric over budgets in numbers."""
    both = ("curves", "differences")
    named = {
        "pass@k": "pass@k",
        "support@k": "support@k, expected prompts with a success",
        "solutions@k": "Distinct rewarded solutions a prompt",
        "best@k": "best@k, expected best score",
        "pass^k": "pass^k, chance that all of k are right",
        "maj@k": "maj@k, chance that a vote of k is right",
    }
    return some(*(_over_budgets(tables, task, title, both, metric=m) for m, title in named.items()))


def coverage(tables: Tables, task: str) -> tuple[Grid, ...]:
    """Show coverage in numbers, over all prompts and over those that all policies solve."""
    both = ("coverage", "coverage")
    kinds = dict.fromkeys(str(r.labels["kind"]) for r in tables.rows("coverage", task=task))
    scopes = dict.fromkeys(str(r.labels["scope"]) for r in tables.rows("coverage", task=task))
    return some(
        *(
            _over_budgets(tables, task, f"Coverage, {kind}, {scope}", both, metric="coverage@k",
                          kind=kind, scope=scope)
            for kind in kinds
            for scope in scopes
        )
    )  # fmt: skip
