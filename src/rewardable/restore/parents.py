"""A parent of a merge: a folder, or an adapter on one, as tensors by key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from rewardable.errors import ConfigError, DataError
from rewardable.restore.adapters import Adapter, open_adapter
from rewardable.restore.folders import (
    ADAPTER_CONFIG,
    INDEX,
    SINGLE,
    Folder,
    open_folder,
    read_json,
    some,
)
from rewardable.restore.places import EMBEDDING, HEAD, is_buffer, key_of
from rewardable.restore.recipe import MergeRecipe
from rewardable.restore.report import ParentRecord
from rewardable.restore.tensors import FLOATS, Entry, read_rows, spans


@dataclass(frozen=True, kw_only=True)
class Parent:
    """``entries`` by key, for a tied model without HEAD; ``own`` the same without an adapter."""

    role: str
    source: str
    folder: Folder
    entries: Mapping[str, Entry]
    own: Mapping[str, Entry]
    tied: bool
    adapter: Adapter | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Configuration of the model, without the adapter's."""
        return self.folder.config

    @property
    def tokenizer_at(self) -> Path:
        """Folder of the tokenizer: the adapter's where it has one."""
        adapter = self.adapter
        if adapter is not None and (adapter.path / "tokenizer_config.json").is_file():
            return adapter.path
        return self.folder.path

    def has(self, key: str) -> bool:
        """Whether the parent has a tensor for ``key``; a tied head is the embedding."""
        return self.stored_key(key) in self.entries

    def stored_key(self, key: str) -> str:
        """Return the key under which the tensor for ``key`` is stored."""
        return EMBEDDING if key == HEAD and self.tied else key

    def entry(self, key: str) -> Entry:
        """Return the stored tensor for ``key``."""
        return self.entries[self.stored_key(key)]

    def is_stored(self, key: str) -> bool:
        """Whether the file's bytes are the tensor: no adapter adds to it."""
        return self.adapter is None or self.stored_key(key) not in self.adapter.deltas

    def rows(self, key: str, start: int, stop: int) -> torch.Tensor:
        """Return rows in the stored type, or in float32 where an adapter adds to them."""
        entry = self.entry(key)
        piece = read_rows(entry, start, stop)
        if entry.dtype in FLOATS and not bool(piece.isfinite().all()):
            raise DataError(
                f"{self.source}: {entry.name} in {entry.file.name} holds NaN or inf between rows "
                f"{start} and {stop}; a merge would spread them. Take another checkpoint."
            )
        if self.adapter is None or self.is_stored(key):
            return piece
        delta = self.adapter.deltas[self.stored_key(key)]
        return piece.float() + delta.rows(start, stop)

    def record(self) -> ParentRecord:
        """Return the parent by content; reads all of its files."""
        digest = self.adapter.digest if self.adapter else ""
        return ParentRecord(
            role=self.role, source=self.source, weights=self.folder.weights, adapter=digest
        )


def open_parents(recipe: MergeRecipe) -> list[Parent]:
    """Open trained, earlier and base in this order, headers alone."""
    named = [("trained", recipe.trained)]
    named += [(f"earlier {i + 1}", source) for i, source in enumerate(recipe.earlier)]
    if recipe.base:
        named.append(("base", recipe.base))
    return [_open(role, source, recipe.adapter_base) for role, source in named]


def _open(role: str, source: str, adapter_base: str) -> Parent:
    path = Path(source).expanduser()
    if not (path / ADAPTER_CONFIG).is_file():
        folder = open_folder(path)
        entries, tied = _keyed(folder)
        return Parent(
            role=role, source=source, folder=folder, entries=entries, own=entries, tied=tied
        )
    if (path / SINGLE).is_file() or (path / INDEX).is_file():
        raise ConfigError(
            f"{source} holds a whole model and an adapter, so it is unclear which is meant: "
            "move one away."
        )
    folder = open_folder(_base_of(path, source, adapter_base))
    own, tied = _keyed(folder)
    adapter = open_adapter(path, set(own) | ({HEAD} if tied else set()))
    return Parent(
        role=role,
        source=source,
        folder=folder,
        entries=_with_adapter(source, own, adapter, tied),
        own=own,
        tied=tied,
        adapter=adapter,
    )


def _base_of(path: Path, source: str, adapter_base: str) -> Path:
    base = adapter_base or str(read_json(path / ADAPTER_CONFIG).get("base_model_name_or_path", ""))
    if not base:
        raise ConfigError(f"{source}/{ADAPTER_CONFIG} names no base_model_name_or_path.")
    beside = path / base
    found = beside if beside.is_dir() and not Path(base).exists() else Path(base).expanduser()
    if not found.is_dir():
        raise ConfigError(
            f"{source} is an adapter on the base {base!r}, which is no local folder. "
            "Name the base's folder with adapter_base."
        )
    if (found / ADAPTER_CONFIG).is_file():
        raise ConfigError(f"{source} is an adapter on {base!r}, which is an adapter itself.")
    return found


def _keyed(folder: Folder) -> tuple[dict[str, Entry], bool]:
    """Return the tensors by key, and whether head and embedding are one matrix."""
    entries: dict[str, Entry] = {}
    for name, entry in folder.entries.items():
        key = key_of(name)
        if key in entries:
            raise DataError(
                f"{folder.path}: {entries[key].name} and {name} stand for the same tensor."
            )
        entries[key] = entry
    flag = folder.config.get("tie_word_embeddings")
    both = EMBEDDING in entries and HEAD in entries
    tied = bool(flag) if isinstance(flag, bool) else not both
    if not tied or not both:
        if tied and HEAD in entries:
            entries[EMBEDDING] = entries.pop(HEAD)
        return entries, tied
    if not _same(entries[EMBEDDING], entries[HEAD]):
        raise DataError(
            f"{folder.path}/config.json ties head and embedding, but the files hold two different "
            f"matrices ({entries[EMBEDDING].name}, {entries[HEAD].name}). Set "
            "tie_word_embeddings to false, or remove one."
        )
    del entries[HEAD]
    return entries, tied


def _same(one: Entry, other: Entry) -> bool:
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    return all(
        torch.equal(read_rows(one, *span), read_rows(other, *span))
        for span in spans(one.rows, one.width)
    )


def _with_adapter(
    source: str, entries: dict[str, Entry], adapter: Adapter, tied: bool
) -> dict[str, Entry]:
    """Return the base's tensors with the adapter's whole ones in place; check shapes."""
    head, embedding = adapter.whole.get(HEAD), adapter.whole.get(EMBEDDING)
    one = head is None or (embedding is not None and _same(head, embedding))
    if tied and (HEAD in adapter.deltas or not one):
        raise DataError(
            f"{source} changes the head of a base whose head is its embedding; the result would "
            "need two matrices. Save the merged model with peft and pass that folder."
        )
    placed = {**entries, **{key: e for key, e in adapter.whole.items() if not tied or key != HEAD}}
    misfits = [
        f"{key} {placed[key].shape} and {delta.shape}"
        for key, delta in adapter.deltas.items()
        if placed[key].shape != delta.shape
    ]
    if misfits:
        raise DataError(f"{source} does not fit its base in shape: {some(misfits)}.")
    return placed


def buffers(parent: Parent) -> set[str]:
    """Return the keys that files may leave out."""
    return {key for key in parent.entries if is_buffer(key)}
