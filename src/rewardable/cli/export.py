"""``rewardable export RUN --out FOLDER``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import say


def export(
    run_folder: o.RunFolder,
    out: Annotated[Path, typer.Option(help="Folder for one file a policy.")],
    task: Annotated[str, typer.Option(help="Task of the run [default: the only one].")] = "",
) -> None:
    """Write counts, {"id", "c", "n"} a prompt, as passk-inference and others read them."""
    from rewardable.workflows.export import export_counts
    from rewardable.workflows.runs import open_existing

    found = export_counts(open_existing(run_folder), out, task=task)
    for path, (policy, c, n) in found.files.items():
        say(f"{path}: {policy}, {found.n_prompts:,} prompts, {c:,} correct of {n:,} graded")
    if found.left_out:
        say(f"left out: {found.left_out:,} prompts that some policy has no graded sample of")
    if found.n_ungraded:
        say(f"not counted: {found.n_ungraded:,} ungraded rollouts")
