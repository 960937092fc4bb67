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
    """Draw the report of a measured run from its tables."""
    from rewardable.workflows.measure import write_report
    from rewardable.workflows.runs import open_existing

    say(f"report: {write_report(open_existing(run_folder), title=title)}")
