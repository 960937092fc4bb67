"""GGUF files: chat template, and a plain checkpoint made of one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from transformers import AutoModelForCausalLM, AutoTokenizer

from rewardable.errors import ConfigError

TEMPLATE_FIELD = "tokenizer.chat_template"


def gguf_template(path: Path) -> str:
    """Return the chat template that the file carries, or ``""``."""
    field = GGUFReader(str(path)).fields.get(TEMPLATE_FIELD)
    return str(field.contents()) if field is not None else ""


def gguf_tokenizer(path: Path) -> Any:
    """Load the file's tokenizer, its chat template set."""
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    if not tokenizer.chat_template:
        tokenizer.chat_template = gguf_template(path) or None
    return tokenizer


def export_gguf(path: str | Path, out: str | Path, dtype: str = "float32") -> Path:
    """Write a GGUF model as a plain Hugging Face folder (safetensors), dequantised; return ``out``.

    The copy can be trained and saved like any checkpoint: the configuration says nothing of
    quantisation any more, tied embeddings are tied again, and the chat template is the file's.
    """
    source, target = Path(path), Path(out)
    if not source.is_file():
        raise ConfigError(f"no such GGUF file: {source}.")
    loaded = AutoModelForCausalLM.from_pretrained(
        str(source.parent), gguf_file=source.name, dtype=getattr(torch, dtype)
    )
    plain = _plain_copy(loaded).to(getattr(torch, dtype))
    plain.save_pretrained(target)
    gguf_tokenizer(source).save_pretrained(target)
    return target


def _plain_copy(loaded: Any) -> Any:
    """Rebuild the model from a configuration without quantisation, with the same weights."""
    raw = copy.deepcopy(loaded.config).to_dict()
    for name in ("quantization_config", "_name_or_path", "_model_name_or_path"):
        raw.pop(name, None)
    plain = AutoModelForCausalLM.from_config(type(loaded.config).from_dict(raw))
    missing, unexpected = plain.load_state_dict(loaded.state_dict(), strict=False)
    tied = plain.config.tie_word_embeddings
    left = [name for name in missing if not (tied and name.startswith("lm_head"))]
    if left or unexpected:
        raise ConfigError(
            f"the GGUF model does not fit {type(plain).__name__}: "
            f"missing {left[:5]}, unexpected {list(unexpected)[:5]}."
        )
    plain.tie_weights()
    plain.generation_config = copy.deepcopy(loaded.generation_config)
    return plain
