"""GRPO and RLOO through TRL's trainers, on prompts and verdicts of a task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, ProgressCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.rloo_config import RLOOConfig

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train.core import AddingGRPO, AddingRLOO
from rewardable.train.extras import Extras
from rewardable.train.models import adapter, end_ids, open_model, open_tokenizer
from rewardable.train.processes import processes
from rewardable.train.quiet import quiet
from rewardable.train.recipe import GRPORecipe
from rewardable.train.reporter import OnStep, Reporter
from rewardable.train.rewards import PROMPT_KEY, VerdictReward
from rewardable.train.series import checkpoints, is_done, last_checkpoint
from rewardable.train.stage import assembled

TRAINERS: dict[str, tuple[Any, Any]] = {
    "grpo": (AddingGRPO, GRPOConfig),
    "rloo": (AddingRLOO, RLOOConfig),
}
"""Trainer and configuration of each algorithm."""


def run_grpo(
    base: str,
    task: Task,
    recipe: GRPORecipe,
    out: Path,
    on_step: OnStep | None,
    extras: Extras | None = None,
    prompts: Sequence[Prompt] | None = None,
) -> list[Path]:
    """See :func:`rewardable.train.train_grpo`."""
    if is_done(recipe.steps, out):
        return checkpoints(out)
    added = extras or Extras()
    tokenizer = open_tokenizer(base)
    pool = task.prompts(recipe.train_prompts, recipe.seed) if prompts is None else prompts
    if len(pool) < recipe.prompts_per_step:
        raise DataError(
            f"{len(pool)} prompts to train on are fewer than a step takes "
            f"({recipe.prompts_per_step}, prompts_per_step): give more, or make steps smaller."
        )
    build, configuration = TRAINERS[recipe.algorithm]
    with quiet():
        model = open_model(base)
        trainer = assembled(
            build,
            configuration,
            _arguments(recipe, out, configuration, added),
            model=model,
            reward_funcs=[_reward(task, recipe, pool, added, end_ids(model, tokenizer))],
            train_dataset=_dataset(pool, chat=tokenizer.chat_template is not None),
            processing_class=tokenizer,
            callbacks=[*added.callbacks, *([Reporter(on_step)] if on_step else [])],
            peft_config=adapter(recipe.lora),
        )
        trainer.terms, trainer.watches = added.terms, added.watches
        added.bind(trainer)
        for callback in (ProgressCallback, PrinterCallback):
            trainer.remove_callback(callback)
        trainer.train(resume_from_checkpoint=last_checkpoint(out))
    return checkpoints(out)


def _reward(
    task: Task, recipe: GRPORecipe, pool: Sequence[Prompt], added: Extras, ends: Sequence[int]
) -> VerdictReward:
    return VerdictReward(
        task.verifier,
        {p.key: p for p in pool},
        recipe.reward,
        taps=added.taps,
        advantage=added.advantage,
        end_ids=ends,
        group=recipe.group_size,
    )


def _dataset(prompts: Sequence[Prompt], *, chat: bool) -> Dataset:
    def shown(prompt: Prompt) -> Any:
        if not chat:
            return prompt.text
        return [{"role": m.role, "content": m.content} for m in prompt.messages]

    return Dataset.from_list([{"prompt": shown(p), PROMPT_KEY: p.key} for p in prompts])


def _micro_batch(recipe: GRPORecipe) -> tuple[int, int]:
    """Return rows a pass and accumulation steps of one process; each process has whole groups."""
    world = processes().num_processes
    share, rest = divmod(recipe.rollouts_per_step, world)
    if rest or share % recipe.group_size:
        raise ConfigError(
            f"{recipe.prompts_per_step} prompts a step cannot be shared by {world} processes in "
            "whole groups: make prompts_per_step a multiple of the number of processes."
        )
    micro = recipe.micro_batch or share
    if share % micro:
        raise ConfigError(f"micro_batch ({micro}) must divide {share} completions a process.")
    return micro, share // micro


def _arguments(recipe: GRPORecipe, out: Path, configuration: Any, added: Extras) -> dict[str, Any]:
    micro, accumulation = _micro_batch(recipe)
    accelerated = torch.cuda.is_available()
    given: dict[str, Any] = {
        "output_dir": str(out),
        "max_steps": recipe.steps,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulation,
        "num_generations": recipe.group_size,
        "max_completion_length": recipe.max_new_tokens,
        "temperature": recipe.temperature,
        "learning_rate": recipe.learning_rate,
        "lr_scheduler_type": "constant",
        "beta": recipe.kl_coefficient,
        "mask_truncated_completions": recipe.mask_truncated,
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
        **_optional(recipe, added),
    }
    known = {entry.name for entry in fields(configuration)}
    for name in recipe.trl:
        if name not in known:
            raise unknown_name(f"setting of {configuration.__name__}:", name, known)
    return {**given, **recipe.trl}


def _optional(recipe: GRPORecipe, added: Extras) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if recipe.clip_high:
        found["epsilon_high"] = recipe.clip_high
    if recipe.entropy_coefficient:
        found["entropy_coef"] = recipe.entropy_coefficient
    if added.advantage is not None and recipe.algorithm == "grpo":
        found["scale_rewards"] = "none"
    return found
