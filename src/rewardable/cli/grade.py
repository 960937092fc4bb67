"""``rewardable grade RUN``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_graded


def grade(
    run_folder: o.RunFolder,
    workers: Annotated[int, typer.Option(help="Processes; 0 grades in this one.")] = 0,
    timeout: Annotated[
        float, typer.Option(help="Seconds a verdict may take; 0 is no limit. Needs --workers.")
    ] = 0.0,
) -> None:
    """Judge every rollout that the current verifiers have not judged; never samples."""
    from rewardable.workflows.grade import grade as run_grade
    from rewardable.workflows.runs import open_existing

    run = open_existing(run_folder)
    with progress() as on_event:
        summary = run_grade(run, workers=workers, timeout_s=timeout or None, on_event=on_event)
    print_graded(summary)
    say(f"next: rewardable measure {run.path}")
