"""The application: its verbs in a literal list, and what becomes of errors."""

from __future__ import annotations

import sys

import typer

from rewardable import __version__
from rewardable.cli import (
    audit,
    choose,
    collapse,
    demo,
    explain,
    export,
    grade,
    guard,
    import_dump,
    locate,
    measure,
    merge,
    plan,
    report,
    restore,
    sample,
    serve,
    tasks,
    train,
    verifier,
)
from rewardable.cli.console import fail
from rewardable.errors import BoundaryError, UserError

VERBS = {
    "demo": demo.demo,
    "audit": audit.audit,
    "train": train.train,
    "choose": choose.choose,
    "guard": guard.guard,
    "collapse": collapse.collapse,
    "locate": locate.locate,
    "restore": restore.restore,
    "merge": merge.merge,
    "plan": plan.plan,
    "sample": sample.sample,
    "grade": grade.grade,
    "measure": measure.measure,
    "report": report.report,
    "import": import_dump.import_dump,
    "export": export.export,
    "serve": serve.serve,
    "tasks": tasks.tasks,
    "explain": explain.explain,
}

app = typer.Typer(
    name="rewardable",
    help="What did an RLVR run do to the successes that a policy can still reach?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _name, _verb in VERBS.items():
    app.command(_name)(_verb)
app.add_typer(verifier.verifier, name="verifier")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rewardable {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Take the options that stand before the verb."""


INTERRUPTED = 130


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 a part failed, 2 the user's mistake, 3 a gate of measure failed,
    130 interrupted.
    """
    try:
        app()
    except UserError as error:
        fail(str(error), code=2)
    except BoundaryError as error:
        fail(str(error), code=1)
    except OSError as error:
        fail(f"{type(error).__name__}: {error}", code=2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            sys.stderr.write("interrupted; nothing is lost: run the same command to go on.\n")
        raise
