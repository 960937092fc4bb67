"""From a recipe to a folder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rewardable.errors import ConfigError
from rewardable.records import Json
from rewardable.restore.agree import check_agreement
from rewardable.restore.card import write_card
from rewardable.restore.folders import (
    BESIDE,
    CODE,
    INDEX,
    TOKENIZER,
    digest_of,
    files_like,
)
from rewardable.restore.mergekit import YAML, opened_yaml
from rewardable.restore.mixing import Source, pieces, source
from rewardable.restore.parents import Parent, open_parents
from rewardable.restore.places import EMBEDDING, has_token_rows, is_buffer
from rewardable.restore.plan import Blend, Plan, plan_merge
from rewardable.restore.recipe import MergeRecipe
from rewardable.restore.report import MergeReport
from rewardable.restore.rounding import NAMES, Tally
from rewardable.restore.tensors import DTYPES, FLOATS, ShardWriter, Slot, spans
from rewardable.restore.vocabulary import Vocabulary, match_vocabularies
from rewardable.restore.write import check_target, new_folder, write_json, write_text

FORMATS = {NAMES[dtype]: name for name, dtype in DTYPES.items() if dtype in NAMES}


@dataclass(kw_only=True)
class Merge:
    """Parents that fit, what to do with each tensor, and what was done so far."""

    recipe: MergeRecipe
    parents: tuple[Parent, ...]
    vocabulary: Vocabulary
    plan: Plan
    tallies: dict[torch.dtype, Tally] = field(default_factory=dict[torch.dtype, Tally])
    mixed: int = 0
    copied: int = 0
    straight: int = 0

    @property
    def trained(self) -> Parent:
        """The trained checkpoint."""
        return self.parents[0]

    def blend(self, key: str) -> Blend:
        """Return the coefficients of a tensor; what is no weight stays the trained one's."""
        kept = is_buffer(key) or self.trained.entry(key).dtype not in FLOATS
        return Blend() if kept else self.plan.blend(self.recipe, key)

    def source(self, key: str) -> Source:
        """Return the tensor of all parents."""
        by_token = has_token_rows(key) and not self.vocabulary.plain
        return source(self.parents, key, self.vocabulary if by_token else None)

    def slot(self, key: str) -> Slot:
        """Return how the tensor is stored: the trained one's name, type and shape."""
        entry = self.trained.entry(key)
        dtype = entry.dtype
        if self.recipe.dtype != "source" and dtype in FLOATS:
            dtype = FORMATS[self.recipe.dtype]
        elif key in self.trained.own:
            dtype = self.trained.own[key].dtype
        shape = (self.source(key).rows, *entry.shape[1:]) if entry.shape else ()
        return Slot(name=self.trained.own[key].name, dtype=dtype, shape=shape)

    def shards(self) -> dict[str, dict[str, Slot]]:
        """Return slots by key for each file, as the trained checkpoint is laid out."""
        found: dict[str, dict[str, Slot]] = {}
        for key, entry in self.trained.own.items():
            found.setdefault(entry.file.name, {})[key] = self.slot(key)
        return dict(sorted(found.items()))


def run_merge(recipe: MergeRecipe, out: Path, evidence: dict[str, Json]) -> MergeReport:
    """Check everything that headers tell, then write."""
    check_target(out)
    job = prepare(recipe)
    shards = job.shards()
    size = sum(slot.size for slots in shards.values() for slot in slots.values())
    with new_folder(out, size) as folder:
        hashes = [_write_shard(job, folder / name, slots) for name, slots in shards.items()]
        _write_index(folder, shards, size)
        notes = (*job.vocabulary.notes, *_idle(job), *_carry(job, folder))
        reason = _write_yaml(job, folder)
        report = MergeReport(
            folder=out,
            weights=digest_of(hashes),
            recipe=recipe,
            parents=tuple(parent.record() for parent in job.parents),
            layers=job.plan.layers,
            mixed=job.mixed,
            copied=job.copied,
            straight=job.straight,
            size=size,
            rounding=tuple(tally.result() for tally in job.tallies.values()),
            notes=notes,
            mergekit=reason,
        )
        write_card(folder, report.to_mapping(), evidence)
    return report


def prepare(recipe: MergeRecipe) -> Merge:
    """Open the parents and check that they fit each other and the recipe."""
    parents = tuple(open_parents(recipe))
    check_agreement(parents)
    return Merge(
        recipe=recipe,
        parents=parents,
        vocabulary=match_vocabularies(parents, recipe.vocabulary),
        plan=plan_merge(recipe, parents[0].entries),
    )


def _write_shard(job: Merge, path: Path, slots: dict[str, Slot]) -> str:
    keys = {slot.name: key for key, slot in slots.items()}
    writer = ShardWriter(path, list(slots.values()))
    try:
        for slot in writer.slots:
            _write_tensor(job, writer, keys[slot.name], slot)
        return writer.close()
    finally:
        writer.abandon()


def _write_tensor(job: Merge, writer: ShardWriter, key: str, slot: Slot) -> None:
    blend, tensor = job.blend(key), job.source(key)
    _check_finite(job, key, blend)
    dtype, computed = DTYPES[slot.dtype], blend.only is None
    stream = pieces(tensor, blend)
    while True:
        try:
            piece = next(stream)
        except StopIteration as end:
            job.straight += bool(end.value)
            break
        if piece.trained is None and piece.values.dtype == dtype:
            writer.write(piece.values)
            continue
        computed = True
        tally = job.tallies.setdefault(dtype, Tally(dtype))
        writer.write(tally.store(piece, f"{slot.name} of the merge"))
    job.mixed += computed
    job.copied += not computed


def _check_finite(job: Merge, key: str, blend: Blend) -> None:
    """Read the tensor in parents that take no part too: NaN in a parent is told, not passed by."""
    for index, parent in enumerate(job.parents):
        if index in blend.involved or not parent.has(key) or is_buffer(key):
            continue
        entry = parent.entry(key)
        for start, stop in spans(entry.rows, entry.width):
            parent.rows(key, start, stop)


def _write_index(folder: Path, shards: dict[str, dict[str, Slot]], size: int) -> None:
    if len(shards) == 1 and not next(iter(shards)).startswith("model-"):
        return
    files = {slot.name: name for name, slots in shards.items() for slot in slots.values()}
    write_json(
        folder / INDEX,
        {"metadata": {"total_size": size}, "weight_map": dict(sorted(files.items()))},
    )


def _carry(job: Merge, folder: Path) -> list[str]:
    """Write configuration and tokenizer; return what a reader should know."""
    trained = job.trained
    home = job.parents[job.vocabulary.host]
    beside = (*BESIDE, *CODE) if trained.config.get("auto_map") else BESIDE
    carried = [(trained.folder.path, beside), (home.tokenizer_at, TOKENIZER)]
    tokenizer = 0
    for path, patterns in carried:
        for file in files_like(path, patterns):
            target = folder / file.relative_to(path)
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, target)
            tokenizer += patterns is TOKENIZER
    config = _config(job)
    if config == trained.config:
        shutil.copyfile(trained.folder.path / "config.json", folder / "config.json")
    else:
        write_json(folder / "config.json", config)
    return (
        [] if tokenizer else [f"{home.source} has no tokenizer files, so none was carried along."]
    )


def _config(job: Merge) -> dict[str, Any]:
    config = dict(job.trained.config)
    if EMBEDDING in job.trained.own:
        rows = job.slot(EMBEDDING).shape[0]
        if rows != job.trained.own[EMBEDDING].rows:
            config["vocab_size"] = rows
    if job.recipe.dtype != "source":
        config["torch_dtype" if "torch_dtype" in config else "dtype"] = job.recipe.dtype
    return config


def _idle(job: Merge) -> list[str]:
    return [
        f"the adapter {parent.source} adds nothing (all B are zero); was it trained?"
        for parent in job.parents
        if parent.adapter is not None and parent.adapter.idle
    ]


def _write_yaml(job: Merge, folder: Path) -> str:
    """Write the same merge for mergekit, or return why it cannot be said."""
    try:
        text = opened_yaml(job.recipe, job.parents, job.vocabulary, job.plan)
    except ConfigError as error:
        return str(error)
    write_text(folder / YAML, text)
    return ""
