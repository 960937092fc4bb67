"""``rewardable tasks``."""

from __future__ import annotations

from typing import Annotated

import typer

from rewardable.cli.console import print_rows, say


def tasks(
    name: Annotated[
        str, typer.Argument(help="Show examples of this task, NAME or NAME:option=value,...")
    ] = "",
    count: Annotated[int, typer.Option(help="How many examples.")] = 3,
    seed: Annotated[int, typer.Option(help="Which examples.")] = 0,
    perturb: Annotated[int, typer.Option(help="Paraphrases of each example.")] = 0,
) -> None:
    """List the tasks, or show example prompts of one."""
    from rewardable.workflows.catalog import show_task, task_rows

    if not name:
        print_rows(("task", "what it is"), task_rows())
        return
    for prompt in show_task(name, count, seed, perturb):
        say(f"--- {prompt.key}")
        say(prompt.text)
        say(f"facts: {dict(prompt.facts)}")
