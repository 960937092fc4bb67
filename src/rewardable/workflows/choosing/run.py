"""Audit and probe the checkpoints of a run, rank them, and say which one to continue from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.report.choose import choose_figure
from rewardable.results import Table, table_to_json
from rewardable.store.files import write_text
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.choosing.constraints import candidates_of, policies_of
from rewardable.workflows.choosing.plan import ChoosePlan
from rewardable.workflows.choosing.probes import END, Probed, probe_all, turned
from rewardable.workflows.choosing.rank import Choice, rank
from rewardable.workflows.choosing.table import choose_table, told
from rewardable.workflows.events import OnEvent, ignore

TABLE, FIGURE = "choose.json", "choose.svg"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChooseResult:
    """Where the choice lies and what it is. source: of the policy to continue from."""

    table_path: Path
    figure: Path
    audit: AuditResult
    choice: Choice
    table: Table
    source: str


def choose(plan: ChoosePlan, on_event: OnEvent = ignore) -> ChooseResult:
    """Audit, probe, rank and write ``choose.json`` and its figure; goes on where it was cut off.

    Raises
    ------
    ResumeError: the audit's folder holds one with another configuration.
    UserError: a policy or task cannot be loaded, or nothing could be measured.
    """
    return chosen(plan, audit(plan.audit_path, plan.audit, on_event), on_event)


def chosen(plan: ChoosePlan, audited: AuditResult, on_event: OnEvent = ignore) -> ChooseResult:
    """Probe, rank and write the choice among the policies of an audit."""
    names = policies_of(audited.tables)
    sources = dict(zip(names, plan.audit.policies, strict=True))
    probed: list[Probed] = []
    if plan.probe is not None:
        probed = probe_all(plan.path, plan.probe, sources, on_event)
    learnt = {
        one.policy: (plan.probe.task, turned(one.change))
        for one in probed
        if plan.probe is not None and one.metric == END and one.change is not None
    }
    choice = rank(candidates_of(audited.tables, plan.limits, learnt))
    provenance = {
        "audit": str(plan.audit_path),
        "limits": told(plan.limits),
        "probe": told(plan.probe) if plan.probe is not None else {},
    }
    table = choose_table(audited.tables, choice, probed, provenance)
    plan.path.mkdir(parents=True, exist_ok=True)
    write_text(plan.path / TABLE, table_to_json(table))
    write_text(plan.path / FIGURE, choose_figure(table))
    return ChooseResult(
        table_path=plan.path / TABLE,
        figure=plan.path / FIGURE,
        audit=audited,
        choice=choice,
        table=table,
        source=sources[choice.ranked[0].policy],
    )
