"""``rewardable import DUMP --map prompt=...,score=... --out RUN``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli.console import say

if TYPE_CHECKING:
    from rewardable.workflows.import_dump import ImportReport


def import_dump(
    dump: Annotated[Path, typer.Argument(help="JSONL, CSV or Parquet; .gz is fine.")],
    field_map: Annotated[
        str,
        typer.Option(
            "--map",
            help="target=column,... Targets: prompt, completion, score, prompt_id, index, policy, "
            "task, truth, finish_reason, error, n, c, label.KIND, fact.NAME.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Run folder; several dumps may go into one.")],
    policy: Annotated[
        str, typer.Option(help="Name of the policy [default: the file's name].")
    ] = "",
    task: Annotated[str, typer.Option(help="Name of the task.")] = "imported",
    success: Annotated[
        str, typer.Option(help="Success rule on the score, such as '>= 1' or '> 0.5'.")
    ] = "",
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Count broken lines and go on.")
    ] = False,
) -> None:
    """Bring other tools' rollouts or counts into a run folder."""
    from rewardable.workflows.import_dump import import_dump as run_import

    report = run_import(
        out, dump, field_map, policy=policy, task=task, success=success, skip_broken=skip_broken
    )
    _show(report)
    say(f"next: rewardable measure {out}")


def _show(report: ImportReport) -> None:
    what = f"{report.n_counts:,} counts" if report.n_counts else f"{report.n_rollouts:,} rollouts"
    low, high = report.n_per_prompt
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    say(f"{what} of {report.n_prompts:,} prompts, {size} samples a prompt")
    say(f"{report.n_correct:,} correct, {report.n_wrong:,} wrong, {report.n_ungraded:,} ungraded")
    for reason, count in report.reasons.items():
        say(f"ungraded because: {reason} ({count:,})")
    for sentence in report.assumptions:
        say(f"assumed: {sentence}")
    for sentence in report.warnings:
        say(f"warning: {sentence}")
