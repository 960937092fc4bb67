"""Tiny models of several families, written as checkpoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

TOKENS = ("<pad>", "<eos>", *"0123456789+-*/=, ")
SIZES = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}


def tokenizer(tokens: tuple[str, ...] = TOKENS) -> PreTrainedTokenizerFast:
    core = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens)}, unk_token="<pad>"))
    return PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>")


def config(family: str, *, tied: bool, layers: int, rows: int, **changed):
    ids = {"tie_word_embeddings": tied, "eos_token_id": 1, "bos_token_id": None, "pad_token_id": 0}
    ids = {"vocab_size": rows, **ids}
    if family == "gpt2":
        return GPT2Config(
            **{"n_embd": 16, "n_layer": layers, "n_head": 4, "n_positions": 64, **ids, **changed}
        )
    kinds = {
        "llama": LlamaConfig,
        "qwen2": Qwen2Config,
        "qwen3": Qwen3Config,
        "neox": GPTNeoXConfig,
    }
    sizes = {**SIZES, "num_hidden_layers": layers}
    if family == "qwen2":
        sizes["num_key_value_heads"] = 2
    if family == "qwen3":
        sizes |= {"head_dim": 4, "num_key_value_heads": 2}
    return kinds[family](**{**sizes, **ids, **changed})


def write_model(
    folder: Path,
    family: str = "llama",
    *,
    seed: int = 0,
    tied: bool = True,
    dtype: torch.dtype = torch.float32,
    layers: int = 3,
    tokens: tuple[str, ...] = TOKENS,
    rows: int = 0,
    shard: str = "1GB",
    **changed,
) -> Path:
    torch.manual_seed(seed)
    made = config(family, tied=tied, layers=layers, rows=rows or len(tokens), **changed)
    model = AutoModelForCausalLM.from_config(made)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    tokenizer(tokens).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Write a model once a set of options and return its folder; tests must not change it."""
    torch.set_num_threads(1)
    made: dict[str, str] = {}

    def write(family: str = "llama", **options) -> str:
        key = repr((family, sorted(options.items())))
        if key not in made:
            made[key] = str(write_model(tmp_path_factory.mktemp(family), family, **options))
        return made[key]

    return write


def tensors(folder: str | Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = {}
    for file in sorted(Path(folder).glob("model*.safetensors")):
        found |= load_file(file)
    return found


def same_bits(one: torch.Tensor, two: torch.Tensor) -> bool:
    bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (one, two)]
    return one.dtype == two.dtype and one.shape == two.shape and torch.equal(*bits)


def load(folder: str | Path, dtype: torch.dtype = torch.float32):
    """Load by transformers; nothing may be missing, unexpected or newly initialised."""
    model, info = AutoModelForCausalLM.from_pretrained(
        str(folder), dtype=dtype, output_loading_info=True
    )
    assert not any(info.values()), info
    return model.eval()


def logits(model) -> torch.Tensor:
    ids_T = torch.tensor([[4, 12, 7, 16, 9, 1]])
    with torch.inference_mode():
        return model(ids_T).logits


def edit_config(folder: str | Path, **values) -> None:
    path = Path(folder) / "config.json"
    raw = json.loads(path.read_text())
    path.write_text(json.dumps({**raw, **values}))


@pytest.fixture(name="kit", scope="session")
def kit_fixture():
    """The functions above, for test modules that are imported by path."""
    return Kit


class Kit:
    """Names for what a test needs beside ``make``."""

    write_model = staticmethod(write_model)
    tensors = staticmethod(tensors)
    same_bits = staticmethod(same_bits)
    load = staticmethod(load)
    logits = staticmethod(logits)
    edit_config = staticmethod(edit_config)
    tokens = TOKENS
