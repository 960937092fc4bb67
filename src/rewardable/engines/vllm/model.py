"""Loads a policy into vLLM: which arguments it gets, and which of them change what is drawn."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vllm import LLM, EngineArgs  # pyright: ignore[reportMissingImports]
from vllm.lora.request import LoRARequest  # pyright: ignore[reportMissingImports]

from rewardable.engines.arguments import arguments_of, check_names
from rewardable.engines.hf.checkpoints import ADAPTER_CONFIG, Checkpoint
from rewardable.engines.options import EngineOptions
from rewardable.errors import ConfigError, DataError
from rewardable.records import digest

OURS = ("model", "tokenizer", "dtype", "logprobs_mode", "enable_lora", "seed")
"""Arguments that follow from source and options."""
CHANGES_WEIGHTS = ("quantization", "quantization_config", "kv_cache_dtype", "hf_overrides",
                   "load_format", "revision")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LoadedLLM:
    """A policy in vLLM. lora: its adapter. context: most tokens of prompt and completion."""

    llm: Any
    lora: Any
    tokenizer: Any
    context: int


def load_llm(checkpoint: Checkpoint, options: EngineOptions) -> LoadedLLM:
    """Load the checkpoint; ConfigError or DataError when vLLM cannot."""
    given = arguments_of("vllm", options.arguments)
    _check(given)
    where = checkpoint.folder / checkpoint.gguf if checkpoint.gguf else checkpoint.folder
    told: dict[str, Any] = {
        "model": str(where), "dtype": options.dtype, "enable_prefix_caching": True,
        "logprobs_mode": "raw_logprobs",
    }  # fmt: skip
    if options.batch_rows:
        told["max_num_seqs"] = options.batch_rows
    lora = None
    if checkpoint.adapter is not None:
        told |= {"enable_lora": True, "max_lora_rank": _rank(checkpoint)}
        lora = LoRARequest("adapter", 1, str(checkpoint.adapter))
    try:
        llm = LLM(**(told | given))
    except (ValueError, TypeError, KeyError, OSError, RuntimeError) as error:
        raise ConfigError(f"vLLM cannot load {checkpoint.source}: {error}") from error
    return LoadedLLM(
        llm=llm, lora=lora, tokenizer=llm.get_tokenizer(), context=llm.model_config.max_model_len
    )


def weights_key(weights: str, options: EngineOptions) -> str:
    """Return the weights' name: the files' digest, and what vLLM is told to make of them."""
    given = arguments_of("vllm", options.arguments)
    changed = {key: given[key] for key in CHANGES_WEIGHTS if key in given}
    return digest("weights in vllm", weights, changed) if changed else weights


def _check(given: Mapping[str, Any]) -> None:
    """Refuse unknown arguments, and those that are set elsewhere."""
    known = {field.name for field in dataclasses.fields(EngineArgs)}
    known |= set(inspect.signature(LLM.__init__).parameters) - {"self", "kwargs"}
    check_names(given, known, "vllm")
    for name in OURS:
        if name in given:
            raise ConfigError(f"vllm.{name} follows from the policy and the run; leave it out.")


def _rank(checkpoint: Checkpoint) -> int:
    """Return the rank to make room for: vLLM takes powers of two from 8 on."""
    assert checkpoint.adapter is not None
    raw = json.loads((checkpoint.adapter / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    rank = raw.get("r")
    if not isinstance(rank, int) or rank < 1:
        raise DataError(f"{checkpoint.adapter} names no rank: r is {rank!r}.")
    return max(8, 1 << (rank - 1).bit_length())
