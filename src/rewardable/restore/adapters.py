"""LoRA adapters as what they add to a weight: the product B@A, never A and B apart."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rewardable.errors import ConfigError, DataError
from rewardable.restore.folders import ADAPTER_CONFIG, read_json, some, weights_digest
from rewardable.restore.places import key_of
from rewardable.restore.tensors import Entry, read_header, read_rows

PREFIX = "base_model.model."
_FACTOR = re.compile(r"^(.+)\.lora_(embedding_)?([AB])(?:\.default)?(?:\.weight)?$")
_SAVED = re.compile(r"\.(?:base_layer|modules_to_save(?:\.default)?)\.")


@dataclass(frozen=True, kw_only=True)
class Delta:
    """What an adapter adds to one weight: ``scale * B @ A``, transposed where stored so."""

    a: torch.Tensor
    b: torch.Tensor
    scale: float
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the weight it is for."""
        full = (self.b.shape[0], self.a.shape[1])
        return (full[1], full[0]) if self.transposed else full

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """Return rows of the product in float32."""
        if self.transposed:
            return self.scale * (self.a[:, start:stop].T @ self.b.T)
        return self.scale * (self.b[start:stop] @ self.a)


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A LoRA adapter: deltas by key, and ``whole`` tensors that replace the base's."""

    path: Path
    base: str
    digest: str
    deltas: dict[str, Delta]
    whole: dict[str, Entry]
    idle: bool = field(default=False)


def open_adapter(path: Path, base_keys: set[str]) -> Adapter:
    """Read an adapter; DataError listing the tensors that are not the base's."""
    config = read_json(path / ADAPTER_CONFIG)
    _check_kind(path, config)
    files = sorted(path.glob("adapter_model*.safetensors"))
    entries = {name: entry for file in files for name, entry in read_header(file).items()}
    if not entries:
        raise ConfigError(f"{path} has {ADAPTER_CONFIG} but no adapter_model.safetensors.")
    factors: dict[str, dict[str, Entry]] = {}
    whole: dict[str, Entry] = {}
    unmatched: list[str] = []
    for name, entry in entries.items():
        found = _FACTOR.match(name)
        inner = (found[1] if found else _SAVED.sub(".", name)).removeprefix(PREFIX)
        key = key_of(f"{inner}.weight" if found else inner)
        if not name.startswith(PREFIX) or key not in base_keys:
            unmatched.append(name)
        elif found:
            factors.setdefault(key, {})[f"{found[2] or ''}{found[3]}"] = entry
        else:
            whole[key] = entry
    if unmatched:
        raise DataError(
            f"the adapter {path} does not fit its base: {len(unmatched)} of its {len(entries)} "
            f"tensors have names that the base lacks ({some(sorted(unmatched))}). Rename them, or "
            "name the base that the adapter was trained on (adapter_base)."
        )
    deltas = {key: _delta(path, config, key, pair) for key, pair in factors.items()}
    return Adapter(
        path=path,
        base=str(config.get("base_model_name_or_path") or ""),
        digest=weights_digest([*files, path / ADAPTER_CONFIG]),
        deltas=deltas,
        whole=whole,
        idle=not whole and not any(bool(delta.b.any()) for delta in deltas.values()),
    )


def _check_kind(path: Path, config: dict[str, Any]) -> None:
    kind = config.get("peft_type")
    if kind != "LORA":
        raise ConfigError(f"{path} is a {kind} adapter; a merge reads LoRA adapters alone.")
    for option in ("use_dora", "lora_bias", "trainable_token_indices", "target_parameters"):
        if config.get(option):
            raise ConfigError(
                f"{path} uses {option}, which is not a product B@A alone; merge it with peft "
                "(merge_and_unload) and pass the merged folder."
            )


def _delta(path: Path, config: dict[str, Any], key: str, pair: dict[str, Entry]) -> Delta:
    embedding = any(name.startswith("embedding_") for name in pair)
    names = ("embedding_A", "embedding_B") if embedding else ("A", "B")
    if set(pair) != set(names):
        raise DataError(f"{path} has only {some(sorted(pair))} of the pair A, B for {key}.")
    a, b = (_whole(pair[name]) for name in names)
    rank = a.shape[0]
    if b.shape[1] != rank:
        raise DataError(f"{path}: A {tuple(a.shape)} and B {tuple(b.shape)} of {key} do not fit.")
    module = pair[names[0]].name
    alpha = _pattern(config.get("alpha_pattern"), module, config.get("lora_alpha", rank))
    declared = _pattern(config.get("rank_pattern"), module, config.get("r", rank))
    if declared != rank:
        raise DataError(f"{path} says rank {declared} for {key}, its tensors have {rank}.")
    scale = float(alpha) / (rank**0.5 if config.get("use_rslora") else rank)
    transposed = embedding or bool(config.get("fan_in_fan_out"))
    return Delta(a=a, b=b, scale=scale, transposed=transposed)


def _whole(entry: Entry) -> torch.Tensor:
    tensor = read_rows(entry, 0, entry.rows).float()
    if not bool(tensor.isfinite().all()):
        raise DataError(f"{entry.file}: {entry.name} holds NaN or inf.")
    return tensor


def _pattern(patterns: dict[str, Any] | None, name: str, default: Any) -> Any:
    """Return the value of the pattern that matches the module's name, as peft reads it."""
    module = name.removeprefix(PREFIX).split(".lora_")[0]
    for pattern, value in (patterns or {}).items():
        if re.match(rf"(.*\.)?({pattern})$", module):
            return value
    return default
