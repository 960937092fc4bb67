"""The refusal screen of a run: whether it is wanted, its prompts, its small budget."""

from __future__ import annotations

from dataclasses import replace

from rewardable.records import Policy
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.config import RunConfig

SCREEN = "refusal"
PROMPTS, SAMPLES = 200, 4
"""All requests, at most so many samples of each."""


def wants_screen(config: RunConfig, base: Policy) -> bool:
    """Tell whether the screen is to be sampled: asked for, not a task already, a chat model."""
    named = {spec.partition(":")[0] for spec in config.tasks}
    return config.refusal_screen and SCREEN not in named and base.template != "raw"


def add_screen(run: Run, config: RunConfig) -> None:
    """Give the run the screen's prompts."""
    run.add_prompts(list(load_task(SCREEN).prompts(PROMPTS, config.prompts_seed)))


def screens_of(run: Run, config: RunConfig) -> tuple[str, ...]:
    """Return the screens that the run holds beside its tasks."""
    named = {spec.partition(":")[0] for spec in config.tasks}
    held = config.refusal_screen and SCREEN not in named and run.prompts(SCREEN)
    return (SCREEN,) if held else ()


def for_screens(config: RunConfig) -> RunConfig:
    """Return the configuration under which screens are sampled: few samples, no stopping rule."""
    return replace(config, n=min(config.n, SAMPLES), stopping=None)
