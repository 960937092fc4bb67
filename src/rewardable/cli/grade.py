"""``rewardable grade RUN``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_graded


def grade(
    run_folder: o.RunFolder,
    workers: o.Workers = 0,
    timeout: o.Timeout = 0.0,
    retry_ungraded: Annotated[
        bool, typer.Option("--retry-ungraded", help="Judge those again that stayed ungraded.")
    ] = False,
) -> None:
    """Judge every rollout that the current verifiers have not judged; never samples."""
    from rewardable.workflows.grade import grade as run_grade
    from rewardable.workflows.runs import open_existing

    run = open_existing(run_folder)
    with progress() as on_event:
        summary = run_grade(
            run,
            workers=workers,
            timeout_s=timeout or None,
            retry_ungraded=retry_ungraded,
            on_event=on_event,
        )
    print_graded(summary)
    say(f"next: rewardable measure {run.path}")
