"""What the stages' trainers share: arguments, adapters, quiet, the run to the last step."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import PrinterCallback, ProgressCallback

from rewardable.errors import ConfigError, UserError, unknown_name
from rewardable.train.processes import processes
from rewardable.train.quiet import quiet
from rewardable.train.series import checkpoints, last_checkpoint
from rewardable.train.stages import StageRecipe


def arguments(
    recipe: StageRecipe, out: Path, configuration: Any, own: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of TRL's ``configuration``: the recipe's, ``own``, then ``recipe.trl``.

    Raises
    ------
    ConfigError: unknown settings, or a batch that the processes cannot share.
    """
    micro, accumulation = _split(recipe)
    accelerated = torch.cuda.is_available()
    given: dict[str, Any] = {
        "output_dir": str(out),
        "max_steps": recipe.steps,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulation,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": recipe.schedule,
        "seed": recipe.seed,
        "save_steps": recipe.save_every,
        "save_strategy": "steps",
        "logging_steps": 1,
        "report_to": [],
        "disable_tqdm": True,
        "gradient_checkpointing": accelerated,
        "bf16": accelerated or recipe.bf16,
        "use_cpu": not accelerated,
        "dataloader_pin_memory": accelerated,
    }
    known = {entry.name for entry in fields(configuration)}
    for name in recipe.trl:
        if name not in known:
            raise unknown_name(f"setting of {configuration.__name__}:", name, known)
        if name in own:
            raise ConfigError(f"[trl] {name}: this stage sets it itself ({own[name]!r}).")
    return {**given, **own, **recipe.trl}


def _split(recipe: StageRecipe) -> tuple[int, int]:
    world = processes().num_processes
    share, rest = divmod(recipe.batch, world)
    if rest:
        raise ConfigError(f"batch ({recipe.batch}) must be a multiple of the {world} processes.")
    micro = recipe.micro_batch or share
    if share % micro:
        raise ConfigError(f"micro_batch ({micro}) must divide the {share} rows of a process.")
    return micro, share // micro


def assembled(trainer: Any, configuration: Any, settings: Mapping[str, Any], **parts: Any) -> Any:
    """Return a trainer of TRL with its configuration.

    Raises
    ------
    ConfigError: TRL, or a reporter that it calls, refuses the settings.
    """
    try:
        return trainer(args=configuration(**settings), **parts)
    except UserError:
        raise
    except (ValueError, ImportError, RuntimeError) as error:  # the named boundary: TRL's settings
        raise ConfigError(f"TRL refuses the settings of this run: {error}") from error


@contextmanager
def still() -> Generator[None]:
    """Keep the bars of transformers and datasets out of our progress display."""
    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with quiet():
            yield
    finally:
        if shown:
            datasets.enable_progress_bars()


def train(trainer: Any, out: Path) -> list[Path]:
    """Run to the last step, from the latest checkpoint in ``out``; return the checkpoints."""
    for callback in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(callback)
    trainer.train(resume_from_checkpoint=last_checkpoint(out))
    return checkpoints(out)
