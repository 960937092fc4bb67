"""``rewardable explain NAME``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from rewardable.cli.console import print_rows, say


def explain(
    name: Annotated[str, typer.Argument(help="A metric; without it all are listed.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Print the whole reference as Markdown.")
    ] = False,
) -> None:
    """Say what a metric measures, what it assumes and when it misleads."""
    from rewardable.workflows import explain as metrics

    if everything:
        sys.stdout.write(metrics.reference())
    elif name:
        say(metrics.explain(name))
    else:
        rows = [(metric, metrics.first_line(metric)) for metric in metrics.metric_names()]
        print_rows(("metric", "what it returns"), rows)
