"""A checkpoint's folder: its shards, index, configuration and the files that travel along."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.records import digest
from rewardable.restore.tensors import Entry, read_header

ADAPTER_CONFIG = "adapter_config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
TOKENIZER = (
    "tokenizer*",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "*.model",
    "*.tiktoken",
    "chat_template*",
    "additional_chat_templates/*",
)
BESIDE = ("generation_config.json", "*processor_config.json", "LICENSE*", "NOTICE*")
CODE = ("*.py",)
"""Carried along where the configuration names code of its own (``auto_map``)."""
CHUNK = 1 << 22
SHOWN = 6
_NUMBERED = re.compile(r"-\d+-of-(\d+)\.safetensors$")


@dataclass(frozen=True, kw_only=True)
class Folder:
    """A whole model on disk: ``entries`` by stored name, ``shards`` their files in order."""

    path: Path
    config: dict[str, Any]
    entries: dict[str, Entry]
    shards: tuple[Path, ...]

    @property
    def weights(self) -> str:
        """Digest of the weights, the same that a Policy of this folder carries."""
        return weights_digest(self.shards)


def open_folder(path: Path) -> Folder:
    """Read configuration and headers; errors say what is missing."""
    if not path.is_dir():
        raise ConfigError(f"no such folder: {path}. A merge reads local folders.")
    config = read_json(path / "config.json")
    if config.get("quantization_config"):
        raise DataError(f"{path} holds quantised weights, which cannot be mixed; dequantise first.")
    shards = _shards(path)
    entries: dict[str, Entry] = {}
    for shard in shards:
        found = read_header(shard)
        twice = sorted(set(found) & set(entries))
        if twice:
            raise DataError(f"{path}: {some(twice)} in two shards, one of them {shard.name}.")
        entries.update(found)
    _check_index(path, entries)
    return Folder(path=path, config=config, entries=entries, shards=tuple(shards))


def _shards(path: Path) -> list[Path]:
    """Return the weight files. An index beside a single file, or none beside shards, is stale."""
    found = sorted(path.glob("model*.safetensors"))
    single, index = path / SINGLE, path / INDEX
    if index.is_file():
        named = set(_weight_map(index).values())
        absent = sorted(name for name in named if not (path / name).is_file())
        extra = sorted({file.name for file in found} - named)
        if absent or extra:
            kept = f"; files that it does not name: {some(extra)}" if extra else ""
            raise DataError(
                f"{index} does not fit the folder: missing shards: {some(absent)}{kept}. "
                "Copy the missing files, or remove the index or files of another save."
            )
        return [path / name for name in sorted(named)]
    if not found:
        other = [p.name for p in sorted(path.iterdir()) if p.suffix in (".bin", ".gguf", ".pt")]
        hint = f" (found {some(other)}: save it as safetensors first)" if other else ""
        raise ConfigError(f"{path} holds no {SINGLE} nor shards{hint}.")
    if found != [single]:
        count = _NUMBERED.search(found[-1].name)
        expected = f" of {int(count[1])}" if count else ""
        raise DataError(
            f"{path} has {len(found)}{expected} weight files ({some([f.name for f in found])}) but "
            f"no {INDEX} that says which belong together."
        )
    return found


def _weight_map(index: Path) -> dict[str, str]:
    raw = read_json(index).get("weight_map")
    if not isinstance(raw, dict) or not raw:
        raise DataError(f"{index} has no weight_map.")
    return {str(name): str(file) for name, file in raw.items()}


def _check_index(path: Path, entries: dict[str, Entry]) -> None:
    index = path / INDEX
    if not index.is_file():
        return
    named = _weight_map(index)
    stored = {name: entry.file.name for name, entry in entries.items()}
    if named == stored:
        return
    absent, extra = sorted(set(named) - set(stored)), sorted(set(stored) - set(named))
    moved = sorted(name for name in set(named) & set(stored) if named[name] != stored[name])
    raise DataError(
        f"{index} is stale: tensors in no shard: {some(absent)}; tensors it does not name: "
        f"{some(extra)}; tensors in another shard: {some(moved)}. Save the checkpoint again."
    )


def read_json(file: Path) -> dict[str, Any]:
    """Return a JSON object; errors name the file."""
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"{file.parent} has no {file.name}.") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{file} is no readable JSON: {error}") from error
    if not isinstance(raw, dict):
        raise DataError(f"{file} holds no JSON object.")
    return raw


def files_like(path: Path, patterns: Iterable[str]) -> list[Path]:
    """Return the files of a folder that match one of the patterns."""
    return sorted({file for p in patterns for file in path.glob(p) if file.is_file()})


def weights_digest(files: Iterable[Path]) -> str:
    """Return the digest of the files' bytes in the order of their names."""
    return digest_of([file_digest(file) for file in sorted(files)])


def digest_of(hashes: list[str]) -> str:
    """Return the digest of files whose SHA-256 are known."""
    return digest("weights", hashes)


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    sha = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            sha.update(chunk)
    return sha.hexdigest()


def some(names: Iterable[str]) -> str:
    """Return the first few of many names."""
    listed = list(names)
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more if listed else "none"
