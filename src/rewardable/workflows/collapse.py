"""The quick collapse test: sample a little, count distinct outputs, judge against the base."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.errors import unknown_name
from rewardable.measure import collapse_table
from rewardable.results import Table
from rewardable.store import Run
from rewardable.workflows.config import IMPORTED, RunConfig
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.measure import config_of
from rewardable.workflows.sample import SampleReport, open_run, sample

PROMPTS, SAMPLES = 100, 10


@dataclass(frozen=True, kw_only=True, slots=True)
class CollapseResult:
    """What was sampled, if anything was, and the table whose notes are the verdict."""

    path: Path
    table: Table
    sampled: SampleReport | None = None


def collapse(path: Path, config: RunConfig, on_event: OnEvent = ignore) -> CollapseResult:
    """Sample ``config`` into the run folder ``path`` and judge it; nothing is graded.

    Raises
    ------
    ResumeError: the folder holds a run with another configuration.
    UserError: a policy or task cannot be loaded, or a policy gave no outputs.
    """
    run = open_run(path, config)
    report = sample(run, config, on_event)
    found = collapse_run(run, k=config.n)
    return replace(found, sampled=report)


def collapse_run(run: Run, *, task: str = "", base: str = "", k: int = SAMPLES) -> CollapseResult:
    """Judge the rollouts that a run holds; empty ``task`` and ``base`` take its first ones.

    Raises
    ------
    DataError: the policies share no prompt with two outputs each.
    """
    if IMPORTED in run.config:
        config = config_of(run, base=base, task=task)
    else:
        config = config_of(run, base=base)
        known = (config.main_task, *config.future_tasks, *config.screens)
        if task and task not in known:
            raise unknown_name("task", task, known)
        config = replace(config, main_task=task or config.main_task)
    return CollapseResult(path=run.path, table=collapse_table(run, config, k=k))
