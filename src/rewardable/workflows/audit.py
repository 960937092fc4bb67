"""The main job: sample, grade, measure and report base and checkpoints in one go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.results import Table
from rewardable.workflows.config import RunConfig
from rewardable.workflows.events import Event, OnEvent, ignore
from rewardable.workflows.grade import GradeSummary, grade
from rewardable.workflows.measure import measure, write_report
from rewardable.workflows.sample import SampleReport, open_run, sample


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditResult:
    """Where the audit lies and what it says. ``verdict`` holds whole sentences."""

    path: Path
    report: Path
    sampled: SampleReport
    graded: GradeSummary
    tables: dict[str, Table]

    @property
    def verdict(self) -> tuple[str, ...]:
        """The findings in words, most important first."""
        return self.tables["verdict"].notes


def audit(path: Path, config: RunConfig, on_event: OnEvent = ignore) -> AuditResult:
    """Audit ``config.policies`` in the run folder ``path``; goes on where it was interrupted.

    Raises
    ------
    ResumeError: the folder holds a run with another configuration.
    UserError: a policy or task cannot be loaded.
    """
    run = open_run(path, config)
    sampled = sample(run, config, on_event)
    graded = grade(run, on_event=on_event)
    on_event(Event(stage="measuring", done=0, total=1))
    tables = measure(run)
    report = write_report(run, tables)
    on_event(Event(stage="measuring", done=1, total=1))
    return AuditResult(path=path, report=report, sampled=sampled, graded=graded, tables=tables)
