"""Puts a LoRA adapter on its base, or says why not; never silently the base alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from rewardable.engines.hf.checkpoints import ADAPTER_CONFIG
from rewardable.engines.hf.digests import weight_files
from rewardable.errors import ConfigError, DataError, MissingExtraError

SHOWN = 6


def with_adapter(model: Any, folder: Path) -> Any:
    """Return ``model`` with the adapter in ``folder`` merged into its weights.

    Raises DataError listing the names when the adapter's tensors are not the model's, ConfigError
    for adapters that cannot be merged.
    """
    try:
        from peft import PeftModel, get_peft_model_state_dict
    except ImportError as error:
        raise MissingExtraError(
            f"{folder} is an adapter: pip install 'rewardable[hf]' for peft."
        ) from error
    kind = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8")).get("peft_type")
    try:
        adapted = PeftModel.from_pretrained(model, str(folder))
    except (RuntimeError, ValueError, KeyError) as error:
        raise DataError(f"the adapter {folder} does not fit its base: {error}") from error
    expected = get_peft_model_state_dict(adapted)
    _compare(folder, set(expected), set(_adapter_tensors(folder)))
    if not hasattr(adapted.base_model, "merge_and_unload"):
        raise ConfigError(f"{folder} is a {kind} adapter; only adapters that merge are supported.")
    return adapted.merge_and_unload(safe_merge=True)


def _adapter_tensors(folder: Path) -> list[str]:
    """Return the names of the tensors in the adapter's files."""
    names: list[str] = []
    for file in weight_files(folder, "adapter_model"):
        if file.suffix == ".safetensors":
            from safetensors import safe_open

            with safe_open(str(file), framework="pt") as opened:
                names.extend(opened.keys())
        else:
            names.extend(torch.load(file, map_location="cpu", weights_only=True))
    return names


def _compare(folder: Path, expected: set[str], found: set[str]) -> None:
    unmatched, absent = sorted(found - expected), sorted(expected - found)
    if not unmatched and not absent:
        return
    raise DataError(
        f"the adapter {folder} does not fit its base: {len(unmatched)} of its {len(found)} tensors "
        f"have names that the model lacks ({_some(unmatched)}), and {len(absent)} of the model's "
        f"adapter tensors are not in the file ({_some(absent)}). "
        "Rename the tensors, or name the base that the adapter was trained on."
    )


def _some(names: list[str]) -> str:
    more = f", and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more if names else "none"
