"""GRPO through TRL's ``GRPOTrainer``, on prompts and verdicts of a task."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
)
from transformers.utils import logging as transformers_logging
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from rewardable.protocols import Task
from rewardable.records import Prompt
from rewardable.train.recipe import GRPORecipe, StepReport
from rewardable.train.rewards import PROMPT_KEY, VerdictReward

OnStep = Callable[[StepReport], None]


def run_grpo(
    base: str, task: Task, recipe: GRPORecipe, out: Path, on_step: OnStep | None
) -> list[Path]:
    """See :func:`rewardable.train.train_grpo`."""
    tokenizer = AutoTokenizer.from_pretrained(base)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    prompts = task.prompts(recipe.train_prompts, recipe.seed)
    with _quiet():
        trainer = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32),
            reward_funcs=[VerdictReward(task.verifier, {p.key: p for p in prompts}, recipe.reward)],
            args=_arguments(recipe, out),
            train_dataset=_dataset(prompts, chat=tokenizer.chat_template is not None),
            processing_class=tokenizer,
            callbacks=[_Reporter(on_step)] if on_step else [],
        )
        for callback in (ProgressCallback, PrinterCallback):
            trainer.remove_callback(callback)
        trainer.train(resume_from_checkpoint=_last_checkpoint(out))
    return checkpoints(out)


@contextmanager
def _quiet() -> Generator[None]:
    """Keep transformers' bars and deprecation notes out of our progress display."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
            yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def checkpoints(out: Path) -> list[Path]:
    """Return the finished checkpoint folders under ``out``, in order of step."""
    found = [path for path in out.glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]))


def _last_checkpoint(out: Path) -> str | None:
    found = checkpoints(out)
    return str(found[-1]) if found else None


def _dataset(prompts: Sequence[Prompt], *, chat: bool) -> Dataset:
    def shown(prompt: Prompt) -> Any:
        if not chat:
            return prompt.text
        return [{"role": m.role, "content": m.content} for m in prompt.messages]

    return Dataset.from_list([{"prompt": shown(p), PROMPT_KEY: p.key} for p in prompts])


def _arguments(recipe: GRPORecipe, out: Path) -> GRPOConfig:
    micro = recipe.micro_batch or recipe.rollouts_per_step
    accelerated = torch.cuda.is_available()
    return GRPOConfig(
        output_dir=str(out),
        max_steps=recipe.steps,
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=recipe.rollouts_per_step // micro,
        num_generations=recipe.group_size,
        max_completion_length=recipe.max_new_tokens,
        temperature=recipe.temperature,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="constant",
        beta=recipe.kl_coefficient,
        seed=recipe.seed,
        save_steps=recipe.save_every,
        save_strategy="steps",
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        gradient_checkpointing=accelerated,
        bf16=accelerated or recipe.bf16,
        use_cpu=not accelerated,
        dataloader_pin_memory=accelerated,
    )


class _Reporter(TrainerCallback):
    """Passes TRL's logged reward on after every step."""

    def __init__(self, on_step: OnStep) -> None:
        self._on_step = on_step
        self._start = time.perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Report a step that logged a reward."""
        reward = (logs or {}).get("reward")
        if reward is None:
            return
        seconds = time.perf_counter() - self._start
        self._on_step(
            StepReport(
                step=state.global_step, total=state.max_steps, reward=reward, seconds=seconds
            )
        )
