"""Supervised fine-tuning through TRL's ``SFTTrainer``, on right answers alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from rewardable.errors import DataError
from rewardable.protocols import Task
from rewardable.train.models import adapter, end_ids, open_model, open_tokenizer
from rewardable.train.reporter import OnStep, Reporter
from rewardable.train.rows import TextRow, gold_rows
from rewardable.train.series import checkpoints, is_done
from rewardable.train.stage import arguments, assembled, still, train
from rewardable.train.stages import SFTRecipe
from rewardable.train.tokens import Encoder, encoder

__all__ = ["SFTRecipe", "run_sft"]


def run_sft(
    base: str,
    data: Task | Sequence[TextRow],
    recipe: SFTRecipe,
    out: Path,
    on_step: OnStep | None = None,
    callbacks: Sequence[Any] = (),
) -> list[Path]:
    """Imitate ``data``: given rows, or the gold answers of a task; return the checkpoints.

    Run again with the same arguments it continues from the last checkpoint in ``out``.

    Raises
    ------
    ConfigError: the task writes no right answers, or the recipe cannot be meant.
    DataError: no row fits ``max_length``.
    """
    if is_done(recipe.steps, out):
        return checkpoints(out)
    tokenizer = open_tokenizer(base)
    rows = _rows(data, recipe)
    with still():
        model = open_model(base)
        told = encoder(tokenizer, end_ids(model, tokenizer))
        own = {"max_length": None, "dataset_kwargs": {"skip_prepare_dataset": True}}
        trainer = assembled(
            SFTTrainer,
            SFTConfig,
            arguments(recipe, out, SFTConfig, own),
            model=model,
            train_dataset=Dataset.from_list(sft_examples(rows, told, recipe.max_length)),
            processing_class=tokenizer,
            callbacks=[*callbacks, *([Reporter(on_step)] if on_step else [])],
            peft_config=adapter(recipe.lora),
        )
        return train(trainer, out)


def _rows(data: Task | Sequence[TextRow], recipe: SFTRecipe) -> Sequence[TextRow]:
    if isinstance(data, Sequence):
        return data
    prompts = data.prompts(recipe.train_prompts, recipe.seed)
    return gold_rows(data, prompts, recipe.answers_per_prompt, recipe.seed)


def sft_examples(
    rows: Sequence[TextRow], told: Encoder, max_length: int
) -> list[dict[str, list[int]]]:
    """Return ids and labels; prompt tokens carry no label, the end token does.

    Raises
    ------
    DataError: every row is longer than ``max_length``.
    """
    found: list[dict[str, list[int]]] = []
    for row in rows:
        prompt, answer = told.prompt(row.prompt), told.completion(row.text)
        if len(prompt) + len(answer) <= max_length:
            labels = [-100] * len(prompt) + answer
            found.append({"input_ids": prompt + answer, "labels": labels})
    if not found:
        raise DataError(f"none of {len(rows)} rows has at most {max_length} tokens (max_length).")
    if len(found) < len(rows):
        left_out = len(rows) - len(found)
        warnings.warn(
            f"{left_out} of {len(rows)} rows are longer than {max_length} tokens and left out.",
            stacklevel=2,
        )
    return found
