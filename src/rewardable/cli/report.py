"""``rewardable report RUN``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say


def report(
    run_folder: o.RunFolder,
    title: Annotated[str, typer.Option(help="Heading of the report.")] = "",
) -> None:
    """Draw the report of a measured run, or the timeline of a training run's folder."""
    from rewardable.workflows.guarding import is_training_run, write_timeline
    from rewardable.workflows.measure import write_report
    from rewardable.workflows.runs import open_existing

    if is_training_run(run_folder):
        say(f"timeline: {write_timeline(run_folder, title)}")
        return
    say(f"report: {write_report(open_existing(run_folder), title=title)}")
