"""Open what is trained: model, tokenizer, adapter, and the tokens that end a completion."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.errors import ConfigError
from rewardable.train.recipe import LoraRecipe


@contextmanager
def opening(base: str) -> Generator[None]:
    """Say what transformers cannot load as a ConfigError."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:  # the named boundary: a policy's files
        raise ConfigError(
            f"transformers cannot open the policy {base}: {error} Give a folder with weights and "
            "tokenizer, or a hub id."
        ) from error


def open_model(base: str) -> Any:
    """Return the model in float32, the precision of master weights."""
    with opening(base):
        return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)


def whole(base: str, out: Path) -> str:
    """Return ``base``; of a LoRA folder, ``out``, where its weights are written merged, once.

    Trainers take an adapter for weights that stand still, and its base for the reference.
    """
    if not (Path(base) / "adapter_config.json").is_file():
        return base
    if not out.is_dir():
        from peft import AutoPeftModelForCausalLM

        part = out.with_name(f".part-{out.name}")
        with opening(base):
            tokenizer = AutoTokenizer.from_pretrained(base)
            model: Any = AutoPeftModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        model.merge_and_unload().save_pretrained(part)
        tokenizer.save_pretrained(part)
        part.replace(out)
    return str(out.resolve())


def open_tokenizer(base: str) -> Any:
    """Return the tokenizer of ``base``, padding with its end token where it has no pad token."""
    with opening(base):
        tokenizer = AutoTokenizer.from_pretrained(base)
    if tokenizer.eos_token is None:
        raise ConfigError(
            f"the tokenizer of {base} has no end token: completions could not end. Set eos_token."
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def end_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Return the ids that end a completion: the generation config's and the tokenizer's."""
    known = model.generation_config.eos_token_id
    listed = known if isinstance(known, list) else [known]
    return tuple(sorted({int(i) for i in (*listed, tokenizer.eos_token_id) if i is not None}))


def adapter(lora: LoraRecipe | None) -> Any:
    """Return the adapter's configuration; None where all weights are trained."""
    if lora is None:
        return None
    from peft import LoraConfig

    targets: Any = list(lora.targets) or "all-linear"
    return LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, task_type="CAUSAL_LM"
    )
