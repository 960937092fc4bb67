"""``rewardable verifier diff|check|audit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rewardable.cli import options as o
from rewardable.cli.console import progress, say
from rewardable.cli.verifier_print import print_audit, print_check, print_diff, shown
from rewardable.errors import ConfigError

if TYPE_CHECKING:
    from rewardable.workflows.verifiers.judging import Audit
    from rewardable.workflows.verifiers.targets import RewardOptions

FAILED = 3

verifier = typer.Typer(
    help="Test a verifier: what a new one changes, how it behaves, how often it is wrong.",
    no_args_is_help=True,
)

InTask = Annotated[
    str, typer.Option("--in-task", help="Task of the run [default: the verifier's, or the only].")
]
Signature = Annotated[
    str, typer.Option(help="Of a reward function: trl, verl, or auto by its arguments.")
]
SuccessAt = Annotated[float, typer.Option(help="A reward function's least reward of success.")]
Chat = Annotated[
    bool, typer.Option("--chat", help="Give a TRL function completions as lists of messages.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="ARGUMENT=FACT of a reward function; may be given often."),
]


@verifier.command()
def diff(
    run_folder: o.RunFolder,
    new: Annotated[
        str, typer.Option(help="TASK, or module:attr of a task, verifier or reward function.")
    ],
    old: Annotated[
        str, typer.Option(help="NAME@VERSION of stored verdicts [default: the newest].")
    ] = "",
    in_task: InTask = "",
    allow: Annotated[
        float, typer.Option(help="Exit with 3 when more than this share flips.", min=0, max=1)
    ] = 0.0,
    keep: Annotated[
        bool, typer.Option("--keep", help="Store the new verdicts, too; they become the newest.")
    ] = False,
    workers: o.Workers = 0,
    timeout: o.Timeout = 0.0,
    signature: Signature = "auto",
    success_at: SuccessAt = 1.0,
    chat: Chat = False,
    column: Columns = None,
) -> None:
    """Judge stored rollouts by another verifier and show every flip; exits with 3 on flips."""
    from rewardable.workflows.runs import open_existing
    from rewardable.workflows.verifiers.diff import diff as run_diff
    from rewardable.workflows.verifiers.rescore import named_verifier
    from rewardable.workflows.verifiers.targets import load_target

    run = open_existing(run_folder)
    target = load_target(new, _rewards(signature, success_at, chat, column))
    with progress() as on_event:
        found = run_diff(
            run,
            target,
            old=named_verifier(old),
            task=in_task,
            workers=workers,
            timeout_s=timeout or None,
            keep=keep,
            on_event=on_event,
        )
    print_diff(found)
    say(f"table: {run.path / 'tables'}; every flip: {found.flips_file}")
    if found.rate > allow:
        say(f"more flips than --allow {allow:g}")
        raise typer.Exit(FAILED)


@verifier.command()
def check(
    name: Annotated[
        str, typer.Argument(help="TASK, or module:attr of a task, verifier or reward function.")
    ],
    task: Annotated[
        str, typer.Option(help="Whose prompts and right answers [default: the task named].")
    ] = "",
    prompts: Annotated[int, typer.Option(help="How many prompts.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="Which prompts.")] = 0,
    allow: Annotated[
        float,
        typer.Option(
            help="Share of prompts on which a probe may fail, but gold and hostile texts.",
            min=0,
            max=1,
        ),
    ] = 0.0,
    timeout: Annotated[
        float, typer.Option(help="Seconds a verdict may take; 0 asks in this process.", min=0)
    ] = 10.0,
    out: Annotated[Path | None, typer.Option(help="Write the table as JSON here.")] = None,
    signature: Signature = "auto",
    success_at: SuccessAt = 1.0,
    chat: Chat = False,
    column: Columns = None,
) -> None:
    """Probe a verifier with right, empty, echoed, hedged, cut and hostile answers; 3 on failure."""
    from rewardable.workflows.verifiers.check import check as run_check

    with progress() as on_event:
        found = run_check(
            name,
            task=task,
            count=prompts,
            seed=seed,
            allow=allow,
            timeout_s=timeout or None,
            options=_rewards(signature, success_at, chat, column),
            on_event=on_event,
        )
    print_check(found)
    if out is not None:
        out.write_text(found.json, encoding="utf-8")
        say(f"table: {out}")
    if found.failed:
        raise typer.Exit(FAILED)


@verifier.command()
def audit(
    run_folder: o.RunFolder,
    n: Annotated[int, typer.Option("-n", "--n", help="Rollouts to judge.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Which rollouts.")] = 0,
    in_task: InTask = "",
    old: Annotated[
        str, typer.Option(help="NAME@VERSION of stored verdicts [default: the newest].")
    ] = "",
    twin: Annotated[
        str,
        typer.Option(help="Where it differs is judged first [default: the other format policy]."),
    ] = "",
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the open questions as CSV.")
    ] = None,
    take: Annotated[
        Path | None, typer.Option("--import", help="Read judgements from such a CSV.")
    ] = None,
    workers: o.Workers = 0,
    timeout: o.Timeout = 0.0,
) -> None:
    """Have a person judge a stratified sample and report how often the verifier is wrong."""
    from rewardable.workflows.runs import open_existing
    from rewardable.workflows.verifiers.judging import open_audit

    run = open_existing(run_folder)
    with progress() as on_event:
        found = open_audit(
            run,
            n=n,
            seed=seed,
            task=in_task,
            verifier=old,
            twin=twin,
            workers=workers,
            timeout_s=timeout or None,
            on_event=on_event,
        )
    if take is not None:
        say(f"{found.take(take):,} judgements read from {take}")
    if export is not None:
        say(f"{found.export(export):,} questions written to {export}; fill the column judgement")
    if take is None and export is None:
        _judge(found)
    print_audit(found.table())
    say(f"judgements: {found.folder}")


def _judge(found: Audit) -> None:
    """Ask for one judgement after another until all are there, or the person leaves."""
    from rewardable.workflows.verifiers.judgements import SHORT

    questions = found.questions()
    for place, one in enumerate(questions, start=1):
        say(f"\n--- {place} of {len(questions)} ---------------------------------------------")
        say(shown(one.prompt))
        if one.reference:
            say(f"--- reference: {shown(one.reference)}")
        say(f"--- response:\n{shown(one.response)}")
        said = _ask(tuple(SHORT))
        if not said:
            return
        found.judge(one.key, said)


def _ask(letters: tuple[str, ...]) -> str:
    """Return a letter, empty when the person leaves or the input ends."""
    while True:
        try:
            said = input("c(orrect) w(rong) s(kip) q(uit): ").strip().lower()
        except EOFError:
            return ""
        if said in letters:
            return said
        if said in ("q", "quit"):
            return ""


def _rewards(
    signature: str, success_at: float, chat: bool, column: list[str] | None
) -> RewardOptions:
    from rewardable.workflows.verifiers.targets import RewardOptions, signature_named

    pairs = [item.partition("=") for item in column or ()]
    for argument, equals, fact in pairs:
        if not (argument and equals and fact):
            raise ConfigError(f"--column must be ARGUMENT=FACT, got {argument + equals + fact!r}.")
    return RewardOptions(
        signature=signature_named(signature),
        success_at=success_at,
        chat=chat,
        columns={argument: fact for argument, _, fact in pairs},
    )
