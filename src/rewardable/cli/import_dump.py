"""``rewardable import DUMP --out RUN``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say

if TYPE_CHECKING:
    from rewardable.workflows.import_dump import ImportReport
    from rewardable.workflows.regrade import Regraded


Dump = Annotated[Path, typer.Argument(help="File or folder of TRL, verl, lm-eval, inspect_ai, ...")]
Out = Annotated[Path, typer.Option(help="Run folder; several dumps may go into one.")]
FieldMap = Annotated[
    str,
    typer.Option(
        "--map",
        help="For other files, target=column,... Targets: prompt, completion, score, prompt_id, "
        "index, policy, task, truth, finish_reason, error, n, c, label.KIND, fact.NAME.",
    ),
]
Format = Annotated[str, typer.Option(help="What it must be [default: told by the content].")]
Policy = Annotated[
    str, typer.Option(help="Name of the policy [default: the dump's, or the file's].")
]
TaskName = Annotated[str, typer.Option(help="Name of the task [default: the dump's].")]
Success = Annotated[str, typer.Option(help="Success rule on the score, such as '>= 1' or '> 0.5'.")]
Score = Annotated[
    str, typer.Option(help="Reward column, metric or scorer that says what a success is.")
]
Filter = Annotated[str, typer.Option(help="lm-eval: whose reading of the answers counts.")]
Step = Annotated[
    str, typer.Option(help="Training step, 120 or 100-120; 'each' is a policy of its own.")
]
Regrade = Annotated[
    str, typer.Option(metavar="TASK", help="Judge the answers by this task's verifier, too.")
]
Wording = Annotated[
    bool, typer.Option(help="Count the wording of texts; else `rewardable grade` does it.")
]
SkipBroken = Annotated[
    bool, typer.Option("--skip-broken", help="Count broken lines and rows, and go on.")
]


def import_dump(
    dump: Dump,
    out: Out,
    field_map: FieldMap = "",
    format: Format = "",
    policy: Policy = "",
    task: TaskName = "",
    success: Success = "",
    score: Score = "",
    filter: Filter = "",
    step: Step = "",
    regrade: Regrade = "",
    workers: o.Workers = 0,
    timeout: o.Timeout = 0.0,
    wording: Wording = True,
    skip_broken: SkipBroken = False,
) -> None:
    """Bring other tools' rollouts or counts into a run folder."""
    from rewardable.workflows.import_dump import import_known_dump

    with progress() as on_event:
        found = import_known_dump(
            out,
            dump,
            format=format,
            field_map=field_map,
            policy=policy,
            task=task,
            success=success,
            score=score,
            filter=filter,
            step=step,
            skip_broken=skip_broken,
            regrade_by=regrade,
            workers=workers,
            timeout_s=timeout,
            wording=wording,
            on_event=on_event,
        )
    _show(found.report)
    if found.regraded is not None:
        _show_regraded(found.regraded)
    say(f"next: rewardable measure {out}")


def _show(report: ImportReport) -> None:
    what = f"{report.n_counts:,} counts" if report.n_counts else f"{report.n_rollouts:,} rollouts"
    low, high = report.n_per_prompt
    size = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    say(f"read as: {report.format}")
    say(f"{what} of {report.n_prompts:,} prompts, {size} samples a prompt")
    say(f"{report.n_correct:,} correct, {report.n_wrong:,} wrong, {report.n_ungraded:,} ungraded")
    unjudged = report.n_rollouts - report.n_correct - report.n_wrong - report.n_ungraded
    if unjudged > 0 and not report.n_counts:
        say(f"{unjudged:,} without a score in the dump")
    for reason, count in report.reasons.items():
        say(f"ungraded because: {reason} ({count:,})")
    for why, count in report.skipped.items():
        say(f"skipped: {count:,} rows, {why}")
    for sentence in report.assumptions:
        say(f"assumed: {sentence}")
    for sentence in report.warnings:
        say(f"warning: {sentence}")


def _show_regraded(found: Regraded) -> None:
    say(
        f"regraded by {found.verifier}: {found.n_correct:,} of {found.n_graded:,} correct, "
        f"{found.n_ungraded:,} ungraded; these verdicts count from now on"
    )
    if found.n_both:
        share = 100 * found.n_agree / found.n_both
        say(f"agrees with the dump on {found.n_agree:,} of {found.n_both:,} ({share:.1f} %)")
    for (old, new), count in sorted(found.pairs.items()):
        if old != new:
            say(f"dump {old}, regraded {new}: {count:,}")
    for reason, count in found.reasons.items():
        say(f"ungraded because: {reason} ({count:,})")
    if found.n_matched:
        say(f"references of {found.n_matched:,} prompts taken from the task")
