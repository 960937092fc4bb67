"""``rewardable demo``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from rewardable.cli.console import progress, say
from rewardable.cli.verdict import print_audit


def demo(
    out: Annotated[Path, typer.Option(help="Folder of the demonstration.")] = Path("runs/demo"),
    steps: Annotated[int, typer.Option(help="GRPO steps.")] = 100,
    prompts: Annotated[int, typer.Option(help="Held-out instances.")] = 64,
    n: Annotated[int, typer.Option("-n", "--n", help="Samples a prompt and policy.")] = 128,
    seed: Annotated[int, typer.Option(help="Seed of training and sampling.")] = 0,
) -> None:
    """Train the embedded pocket policy by GRPO, live, and audit what it did to its support."""
    from rewardable.workflows.demo import DemoConfig
    from rewardable.workflows.demo import demo as run_demo

    start = time.perf_counter()
    config = DemoConfig(steps=steps, prompts=prompts, n=n, seed=seed)
    with progress() as on_event:
        result = run_demo(out, config, on_event)
    print_audit(result)
    say(f"{time.perf_counter() - start:.0f} s in all; every number above was sampled in this run.")
