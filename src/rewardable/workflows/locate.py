"""Where a policy's support was lost: sample, force openings, score, and say it in tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.locate.gathered import Gathered
from rewardable.locate.opening_tables import openings_table
from rewardable.locate.paragraph import paragraph_table
from rewardable.locate.series_table import series_table
from rewardable.locate.speller import Speller
from rewardable.locate.tables import (
    drift_table,
    entries_table,
    interventions_table,
    token_tables,
)
from rewardable.locate.task_rules import choose_rules
from rewardable.protocols import Task
from rewardable.report import render_located
from rewardable.results import Table
from rewardable.tasks import load_task
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.grade import grade
from rewardable.workflows.locating.config import LocateConfig
from rewardable.workflows.locating.gather import gather
from rewardable.workflows.locating.reference import (
    choose_reference,
    format_shares,
    format_table,
)
from rewardable.workflows.sample import open_run, sample


@dataclass(frozen=True, kw_only=True, slots=True)
class LocateResult:
    """Where the folder lies and what it says. ``paragraph`` is plain words."""

    path: Path
    report: Path
    tables: dict[str, Table]

    @property
    def paragraph(self) -> tuple[str, ...]:
        """The findings in words."""
        return self.tables["located"].notes


def locate(path: Path, config: LocateConfig, on_event: OnEvent = ignore) -> LocateResult:
    """Locate the loss of ``config.run.policies`` in the folder ``path``; goes on where it stopped.

    Free samples lie in ``path/free`` and forced ones in ``path/forced`` (run folders), scores in
    ``path/scores``; what is there is not drawn or computed again.

    Raises
    ------
    ResumeError: the folder belongs to another configuration.
    UserError: a policy or task cannot be loaded, or nothing could be located.
    """
    task = load_task(config.run.task)
    choose_rules(task, config.look.entry, config.look.phases)  # mistakes show before sampling
    config, formats = _from_reference(path, config, task, on_event)
    free = open_run(path / "free", config.run)
    sample(free, config.run, on_event)
    grade(free, on_event=on_event)
    gathered, spell = gather(path, config, free, task, on_event)
    found = {table.name: table for table in _tables(gathered, spell)}
    found = {"located": paragraph_table(gathered, found), **found}
    if formats is not None:
        found["format"] = formats
    for table in found.values():
        free.write_table(table)
    report = render_located(found, path / "report.html", title=f"Where it was lost: {path.name}")
    return LocateResult(path=path, report=report, tables=found)


def _from_reference(
    path: Path, config: LocateConfig, task: Task, on_event: OnEvent
) -> tuple[LocateConfig, Table | None]:
    """Leave out what comes before the reference, so that learning the format is no change."""
    run = config.run
    if config.look.reference == "first" or len(run.policies) < 2:
        return config, None
    shares = format_shares(path / "format", run, task, on_event)
    place = choose_reference(shares)
    table = format_table(shares, place, task.name)
    if place == 0:
        return config, table
    template = "" if run.own_templates else run.template_from or run.policies[0]
    later = replace(run, policies=run.policies[place:], template_from=template)
    return replace(config, run=later), table


def _tables(g: Gathered, spell: Speller) -> list[Table]:
    methods, found = g.look.methods, list[Table]()
    if "entries" in methods:
        found.append(entries_table(g))
    if g.tokens:
        found += token_tables(g)
    if "openings" in methods:
        found.append(
            openings_table(
                g.rollouts, g.prompts, spell.text if spell.knows_text else None, g.look, g.labels
            )
        )
    if "interventions" in methods:
        found.append(interventions_table(g))
    if "drift" in methods and g.hidden:
        found.append(drift_table(g))
    if "series" in methods:
        found.append(series_table(g))
    return found
