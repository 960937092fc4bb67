"""``rewardable measure RUN``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say
from rewardable.cli.verdict import print_verdict


def measure(
    run_folder: o.RunFolder,
    success_at: Annotated[
        float | None,
        typer.Option(help="Success is a score of at least this [default: the verdict decides]."),
    ] = None,
    base: Annotated[
        str, typer.Option(help="Imported runs: compare with this policy [default: the first].")
    ] = "",
    task: Annotated[
        str, typer.Option(help="Imported runs: the trained task [default: the first].")
    ] = "",
) -> None:
    """Compute the tables of a graded run and print the verdict."""
    from rewardable.workflows.measure import measure as run_measure
    from rewardable.workflows.measure import write_report
    from rewardable.workflows.runs import open_existing

    run = open_existing(run_folder)
    tables = run_measure(run, success_at=success_at, base=base, task=task)
    print_verdict(tables["verdict"])
    say(f"tables: {run.path / 'tables'}; report: {write_report(run, tables)}")
