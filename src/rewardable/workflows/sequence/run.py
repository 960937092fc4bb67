"""Train the stages, audit every policy on every task, put it into one table and figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.errors import DataError
from rewardable.report.sequence import sequence_figure
from rewardable.results import Table
from rewardable.store import Run
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.sequence.plan import SequencePlan
from rewardable.workflows.sequence.table import Passage, sequence_table
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training import check_names, train

FIGURE = "sequence.svg"


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceResult:
    """Where everything lies. policies: the checkpoint that each path of stages ends in."""

    path: Path
    policies: Mapping[tuple[str, ...], Path]
    audit: AuditResult
    table: Table
    figure: Path


def sequence(path: Path, plan: SequencePlan, on_event: OnEvent = ignore) -> SequenceResult:
    """Train in ``path/stages``, audit in ``path/audit``; run again it goes on.

    Raises
    ------
    ResumeError: ``path`` holds a sequence of other recipes.
    UserError: a policy, task or file cannot be loaded.
    """
    for stage in plan.stages.values():
        check_names(replace(stage.train, audit=plan.audit))
    base = resolve_source(plan.policy)
    ends: dict[tuple[str, ...], Path] = {}
    for stages in plan.paths:
        start = str(ends[stages[:-1]]) if stages[:-1] else base
        run = plan.stages[stages[-1]].train.onto(start)
        found = train(folder(path, stages), run, on_event).checkpoints
        if not found:
            raise DataError(f"{folder(path, stages)}: the stage left no checkpoint.")
        ends[stages] = found[-1]
    policies = (base, *map(str, ends.values()))
    audited = audit(path / "audit", plan.audit.run_config(policies, plan.audit.task), on_event)
    run_folder = Run.open(path / "audit")
    keys = {policy.source: policy.key for policy in run_folder.policies()}
    by_path = dict(zip(((), *ends), (keys[source] for source in policies), strict=True))
    passages = _passages(path, plan, by_path)
    table = sequence_table(run_folder, plan.audit, passages)
    run_folder.write_table(table)
    figure = path / FIGURE
    figure.write_text(sequence_figure(table), encoding="utf-8")
    return SequenceResult(path=path, policies=ends, audit=audited, table=table, figure=figure)


def folder(path: Path, stages: tuple[str, ...]) -> Path:
    """Return where the last of ``stages`` is trained."""
    return path / "stages" / "+".join(stages)


def _passages(
    path: Path, plan: SequencePlan, keys: Mapping[tuple[str, ...], str]
) -> tuple[Passage, ...]:
    found: list[Passage] = []
    for order, stages in plan.orders.items():
        for i, name in enumerate(stages):
            here = tuple(stages[: i + 1])
            later = stages[i + 1] if i + 1 < len(stages) else ""
            found.append(
                Passage(
                    order=order,
                    position=i + 1,
                    stage=name,
                    target=plan.stages[name].target,
                    next_target=plan.stages[later].target if later else "",
                    before=keys[here[:-1]],
                    after=keys[here],
                    metrics=folder(path, here) / "metrics.jsonl",
                )
            )
    return tuple(found)
