"""``rewardable measure RUN``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say
from rewardable.cli.verdict import print_gates, print_verdict

GATE_FAILED = 3


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
    cluster: Annotated[
        str,
        typer.Option(
            help="Fact of a prompt that names its source problem [default: cluster, where known]."
        ),
    ] = "",
    batch: Annotated[int, typer.Option(help="Groups in a training batch.", min=1)] = 32,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with 3 when this is shown, for example 'support@64 falls > 5%'; may be "
            "given several times (see docs/gate.md)."
        ),
    ] = None,
) -> None:
    """Compute the tables of a graded run and print the verdict; a failed gate exits with 3."""
    from rewardable.workflows.measure import failed_gates, write_report
    from rewardable.workflows.measure import measure as run_measure
    from rewardable.workflows.runs import open_existing

    run = open_existing(run_folder)
    tables = run_measure(
        run,
        success_at=success_at,
        base=base,
        task=task,
        cluster=cluster,
        batch=batch,
        fail_on=fail_on or (),
    )
    print_verdict(tables["verdict"])
    say(f"tables: {run.path / 'tables'}; report: {write_report(run, tables)}")
    print_gates(tables)
    if failed_gates(tables):
        raise typer.Exit(GATE_FAILED)
