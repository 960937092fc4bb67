"""Tiny random models of three architectures with a character tokenizer, made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

ALPHABET = "0123456789+-*/=,: abcdefghijklmnopqrstuvwxyz"
SPECIAL = ("<pad>", "<eos>", "<bos>", "<end>")


def character_tokenizer(**special: str) -> PreTrainedTokenizerFast:
    vocab = {token: i for i, token in enumerate((*SPECIAL, *ALPHABET))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    core.decoder = decoders.Fuse()
    named = {"pad_token": "<pad>", "eos_token": "<eos>", **special}
    return PreTrainedTokenizerFast(tokenizer_object=core, **named)


def config(family: str, vocab: int):
    ids = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    if family == "gpt2":
        return GPT2Config(vocab_size=vocab, n_embd=32, n_layer=2, n_head=4, n_positions=128, **ids)
    sizes = {
        "vocab_size": vocab,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
    }
    return {"llama": LlamaConfig, "qwen2": Qwen2Config}[family](**sizes, **ids)


def write_model(folder: Path, family: str = "llama", *, seed: int = 0, **special: str) -> Path:
    """Save a random model whose next-token distribution is neither flat nor certain."""
    tokenizer = character_tokenizer(**special)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config(family, len(tokenizer)))
    output = model.get_output_embeddings().weight
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.mul_(15.0 if weight is output else 6.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    torch.set_num_threads(1)
    made: dict[tuple, Path] = {}

    def make(family: str = "llama", **options) -> Path:
        key = (family, *sorted(options.items()))
        if key not in made:
            made[key] = write_model(tmp_path_factory.mktemp(family), family, **options)
        return made[key]

    return make


@pytest.fixture(scope="session", name="character_tokenizer")
def character_tokenizer_fixture() -> Callable[..., PreTrainedTokenizerFast]:
    return character_tokenizer
