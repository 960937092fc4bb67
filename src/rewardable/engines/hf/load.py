"""Loads the model of a checkpoint."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging as transformers_logging

from rewardable.engines.hf.adapters import with_adapter
from rewardable.engines.hf.checkpoints import Checkpoint
from rewardable.engines.hf.memory import SMALL_PARAMETERS
from rewardable.engines.hf.tokenizer import load_tokenizer
from rewardable.engines.options import EngineOptions
from rewardable.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A policy in memory. ``eos_ids`` are all ids that end a completion."""

    model: Any
    tokenizer: Any
    device: torch.device
    eos_ids: frozenset[int]


def load(checkpoint: Checkpoint, options: EngineOptions) -> Loaded:
    """Load the checkpoint as ``options`` say; ConfigError or DataError when it cannot be."""
    device = choose_device(options.device)
    model = _model(checkpoint, options, device)
    tokenizer = load_tokenizer(checkpoint)
    return Loaded(
        model=model,
        tokenizer=tokenizer,
        device=next(model.parameters()).device,
        eos_ids=end_ids(model, tokenizer),
    )


def choose_device(name: str) -> torch.device:
    """Return the device; ``auto`` prefers CUDA, then MPS."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"unknown device {name!r}; use 'auto', 'cpu' or 'cuda:0'.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device {name!r} was asked for, but torch sees no CUDA device.")
    return device


def choose_dtype(name: str, device: torch.device, parameters: int) -> torch.dtype:
    """Return the dtype; ``auto`` is bfloat16 where the processor multiplies it faster.

    Small models stay in float32 on a CPU: they gain nothing, and their draws then do not depend
    on the batch.
    """
    if name != "auto":
        return getattr(torch, name)
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    if device.type != "cpu" or parameters <= SMALL_PARAMETERS:
        return torch.float32
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    gains = able.get("avx512_bf16") or able.get("amx_bf16") or able.get("amx_tile")
    return torch.bfloat16 if gains else torch.float32


def _model(checkpoint: Checkpoint, options: EngineOptions, device: torch.device) -> Any:
    files = {"gguf_file": checkpoint.gguf} if checkpoint.gguf else {}
    placed = {"device_map": options.device_map} if options.device_map else {}
    dtype = choose_dtype(options.dtype, device, _parameters(checkpoint, files))
    first = torch.float32 if checkpoint.adapter is not None else dtype  # merge before rounding
    try:
        with _no_bars():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                str(checkpoint.folder), dtype=first, output_loading_info=True, **files, **placed
            )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"transformers cannot load {checkpoint.source}: {error}") from error
    model, info = loaded
    _check_complete(checkpoint, info)
    if checkpoint.adapter is not None:
        model = with_adapter(model, checkpoint.adapter)
    model = model.to(dtype) if placed else model.to(device=device, dtype=dtype)
    return model.eval().requires_grad_(False)


@contextmanager
def _no_bars() -> Generator[None]:
    """Keep transformers' loading bars out of the caller's own progress display."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def _parameters(checkpoint: Checkpoint, files: dict[str, str]) -> int:
    """Count parameters from the configuration, without reading weights."""
    try:
        config = AutoConfig.from_pretrained(str(checkpoint.folder), **files)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ConfigError(f"transformers cannot read {checkpoint.source}: {error}") from error
    return sum(parameter.numel() for parameter in model.parameters())


def _check_complete(checkpoint: Checkpoint, info: dict[str, Any]) -> None:
    """Refuse a checkpoint that would leave weights at random values."""
    lacking = sorted(
        str(name) for kind in ("missing_keys", "mismatched_keys") for name in info[kind]
    )
    if lacking:
        raise DataError(
            f"{checkpoint.source} lacks {len(lacking)} of the model's tensors or has them in "
            f"another shape ({', '.join(lacking[:6])}); the model would be partly random. "
            "Check that weights and config.json belong together."
        )


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Collect the end-of-sequence ids of generation config, model config and tokenizer."""
    generation = getattr(model, "generation_config", None)
    named = [
        getattr(generation, "eos_token_id", None),
        getattr(model.config, "eos_token_id", None),
        tokenizer.eos_token_id,
    ]
    ids: set[int] = set()
    for value in named:
        if value is not None:
            ids.update(value if isinstance(value, list | tuple) else [value])
    return frozenset(int(i) for i in ids)
