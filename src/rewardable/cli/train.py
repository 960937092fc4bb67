"""``rewardable train RECIPE.toml``."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_audit
from rewardable.errors import ConfigError
from rewardable.workflows.events import OnEvent

Recipe = Annotated[Path, typer.Argument(metavar="RECIPE.toml", help="A recipe file.")]
OutFolder = Annotated[
    Path | None, typer.Option("--out", help="Run folder [default: runs/NAME of the recipe].")
]
PolicySource = Annotated[
    str, typer.Option("--policy", help="The policy to train, in place of the file's.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="In place of the file's seed.")]


def train(
    recipe: Recipe, out: OutFolder = None, policy: PolicySource = "", seed: SeedOption = None
) -> None:
    """Train by a recipe file (GRPO, RLOO, PPO, SFT, DPO, distillation), or stages in orders.

    The same command again goes on from the last checkpoint.
    """
    from rewardable.workflows.training import read_file

    start = time.perf_counter()
    raw = read_file(recipe)
    folder = out or Path("runs") / recipe.stem
    if "orders" in raw:
        _sequence(folder, raw, policy, seed)
    else:
        _one(folder, raw, policy, seed)
    say(f"{time.perf_counter() - start:.0f} s in all.")


def _one(folder: Path, raw: dict[str, Any], policy: str, seed: int | None) -> None:
    from rewardable.workflows.training import STAGED, guard_said, train_plan, train_staged
    from rewardable.workflows.training import train as run_train

    plan = train_plan({k: v for k, v in raw.items() if k != STAGED}, policy=policy, seed=seed)
    if raw.get(STAGED, False) not in (True, False):
        raise ConfigError(f"{STAGED} must be true or false, got {raw[STAGED]!r}.")
    with _shown() as on_event:
        if raw.get(STAGED):
            result = train_staged(folder, raw, on_event, policy=policy, seed=seed)
        else:
            result = run_train(folder, plan, on_event)
    say(f"{len(result.checkpoints)} checkpoints in {folder}:")
    for path in result.checkpoints:
        say(f"  {path}")
    for sentence in guard_said(folder):
        say(sentence)
    if result.audit is not None:
        print_audit(result.audit)
        return
    say("no [audit] in the recipe; look at what the run did with:")
    last = result.checkpoints[-1] if result.checkpoints else folder
    say(f"  rewardable audit {plan.policy} {last} --task {plan.task}")


def _sequence(folder: Path, raw: dict[str, Any], policy: str, seed: int | None) -> None:
    from rewardable.workflows.sequence import sequence, sequence_plan

    plan = sequence_plan(raw, policy=policy, seed=seed)
    with _shown() as on_event:
        result = sequence(folder, plan, on_event)
    print_audit(result.audit)
    say("")
    for note in result.table.notes[1:]:
        say(note)
    say(f"table and figure: {result.audit.path / 'tables' / 'sequence.json'}, {result.figure}")


@contextmanager
def _shown() -> Generator[OnEvent]:
    from rewardable.cli.train_panel import train_panel

    with progress() as otherwise, train_panel(otherwise) as on_event:
        yield on_event
