"""DPO through TRL's ``DPOTrainer``, on pairs of graded rollouts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DataCollatorForPreference, DPOTrainer

from rewardable.errors import DataError
from rewardable.train.models import adapter, end_ids, open_model, open_tokenizer
from rewardable.train.pairs import Pair, pairs
from rewardable.train.reporter import OnStep, Reporter
from rewardable.train.rows import GradedRow
from rewardable.train.series import checkpoints, is_done
from rewardable.train.stage import arguments, assembled, still, train
from rewardable.train.stages import DPORecipe
from rewardable.train.tokens import Encoder, encoder

__all__ = ["DPORecipe", "run_dpo"]


def run_dpo(
    base: str,
    data: Sequence[GradedRow],
    recipe: DPORecipe,
    out: Path,
    on_step: OnStep | None = None,
    callbacks: Sequence[Any] = (),
) -> list[Path]:
    """Prefer CORRECT to WRONG answers of the same prompts; return the checkpoints.

    The reference is ``base`` as it was. Run again it continues from the last checkpoint in ``out``.

    Raises
    ------
    DataError: no prompt has both a CORRECT and a WRONG answer that fit ``max_length``.
    """
    if is_done(recipe.steps, out):
        return checkpoints(out)
    tokenizer = open_tokenizer(base)
    with still():
        model = open_model(base)
        found = pairs(data, recipe.pairs_per_prompt, recipe.seed, spread=recipe.spread)
        told = encoder(tokenizer, end_ids(model, tokenizer))
        own = {"max_length": None, "beta": recipe.beta, "remove_unused_columns": False}
        trainer = assembled(
            DPOTrainer,
            DPOConfig,
            arguments(recipe, out, DPOConfig, own),
            model=model,
            train_dataset=Dataset.from_list(dpo_examples(found, told, recipe.max_length)),
            data_collator=ExactPreference(pad_token_id=int(tokenizer.pad_token_id)),
            processing_class=tokenizer,
            callbacks=[*callbacks, *([Reporter(on_step)] if on_step else [])],
            peft_config=adapter(recipe.lora),
        )
        return train(trainer, out)


def dpo_examples(found: Sequence[Pair], told: Encoder, max_length: int) -> list[dict[str, Any]]:
    """Return the texts that TRL asks for and, under ``exact``, the ids that are trained on.

    Raises
    ------
    DataError: there is no pair, or none with at most ``max_length`` tokens a side.
    """
    if not found:
        raise DataError(
            "no pair: no prompt has both a CORRECT and a WRONG answer. Sample more of each prompt, "
            "or prompts that the policy solves sometimes."
        )
    rows: list[dict[str, Any]] = []
    for pair in found:
        ids = {"prompt_ids": told.prompt(pair.chosen.prompt)}
        ids |= {"chosen_ids": _ids(pair.chosen, told), "rejected_ids": _ids(pair.rejected, told)}
        longest = max(len(ids["chosen_ids"]), len(ids["rejected_ids"]))
        if len(ids["prompt_ids"]) + longest <= max_length:
            texts = {"chosen": pair.chosen.text, "rejected": pair.rejected.text}
            rows.append({"prompt": pair.chosen.prompt.text, **texts, "exact": ids})
    if not rows:
        raise DataError(f"none of {len(found)} pairs has at most {max_length} tokens (max_length).")
    if len(rows) < len(found):
        left_out = f"{len(found) - len(rows)} of {len(found)} pairs"
        warnings.warn(f"{left_out} are longer than {max_length} tokens: left out.", stacklevel=2)
    return rows


def _ids(row: GradedRow, told: Encoder) -> list[int]:
    return list(row.token_ids) or told.completion(row.text, ended=not row.truncated)


class ExactPreference(DataCollatorForPreference):
    """Batches the ids under ``exact``: a truncated answer gets no end token that it never had."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """See the base class."""
        return super().torch_call([example["exact"] for example in examples])
