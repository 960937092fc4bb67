"""The main job: sample, grade, measure and report base and checkpoints in one go."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import DataError
from rewardable.results import Table
from rewardable.store import Run
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


def audit(
    path: Path,
    config: RunConfig,
    on_event: OnEvent = ignore,
    *,
    retry_failed: bool = False,
    workers: int = 0,
    timeout_s: float | None = None,
) -> AuditResult:
    """Audit ``config.policies`` in the run folder ``path``; goes on where it was interrupted.

    retry_failed: as in :func:`~rewardable.workflows.sample.sample`. workers, timeout_s: as in
    :func:`~rewardable.workflows.grade.grade`.

    Raises
    ------
    ResumeError: the folder holds a run with another configuration.
    UserError: a policy or task cannot be loaded, or nothing could be measured.
    """
    run = open_run(path, config)
    sampled = sample(
        run, config, on_event, retry_failed=retry_failed, workers=workers, timeout_s=timeout_s
    )
    graded = _with_earlier(
        sampled, grade(run, workers=workers, timeout_s=timeout_s, on_event=on_event)
    )
    on_event(Event(stage="measuring", done=0, total=1))
    tables = _measured(run, sampled, graded)
    report = write_report(run, tables)
    on_event(Event(stage="measuring", done=1, total=1))
    return AuditResult(path=path, report=report, sampled=sampled, graded=graded, tables=tables)


def _with_earlier(sampled: SampleReport, last: GradeSummary) -> GradeSummary:
    """Add the verdicts that were given while sampling."""
    return GradeSummary(
        graded=sampled.graded + last.graded,
        ungraded=sampled.ungraded + last.ungraded,
        reasons=dict(Counter(sampled.why_ungraded) + Counter(last.reasons)),
    )


def _measured(run: Run, sampled: SampleReport, graded: GradeSummary) -> dict[str, Table]:
    """Measure; where that fails say why rollouts failed or stayed ungraded."""
    try:
        return measure(run)
    except DataError as error:
        reasons = {**sampled.reasons, **graded.reasons}
        most = sorted(reasons.items(), key=lambda item: -item[1])[:3]
        if not most:
            raise
        why = "; ".join(f"{reason} ({count:,} rollouts)" for reason, count in most)
        raise DataError(f"{error} Why rollouts failed or are ungraded: {why}.") from error
