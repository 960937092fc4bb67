"""Which tool wrote a dump: a literal table, tried in its order on how the files begin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.importers import (
    counts,
    human_eval,
    inspect_ai,
    lm_eval,
    math_eval,
    trl,
    verl,
)
from rewardable.importers.dump import Dump, in_order, plain
from rewardable.importers.format import Choices, Format, Head, Notes, Plan
from rewardable.importers.head import look
from rewardable.importers.sources import FORMATS

KNOWN: tuple[Format, ...] = (
    trl.FORMAT,
    verl.FORMAT,
    lm_eval.FORMAT,
    inspect_ai.FORMAT,
    math_eval.FORMAT,
    human_eval.FORMAT,
    counts.FORMAT,
)
_WRITTEN = {
    "jsonl": "JSON Lines",
    "csv": "CSV",
    "tsv": "TSV",
    "parquet": "Parquet",
    "zip": "ZIP",
    "json": "JSON",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recognised:
    """A dump whose format is known, and how it is read."""

    dump: Dump
    plan: Plan


def names() -> list[str]:
    """Return the names of the formats."""
    return [one.name for one in KNOWN]


def recognise(
    path: Path, choices: Choices, *, wanted: str = "", skip_broken: bool = False
) -> Recognised:
    """Look at a file, or at the files of a folder, and settle how to read them.

    wanted: name of a format; the files must look like it. ConfigError where nothing fits or
    something must be chosen.
    """
    notes = Notes()
    heads = _heads(path, notes)
    found, fitting = _format(path, heads, wanted)
    found.check(choices)
    if len(fitting) > 1 and not found.many:
        raise ConfigError(
            f"{path.name} holds {len(fitting)} files of the format {found.name}; import them one "
            "by one, each under its --policy. They may go into one run folder."
        )
    head = fitting[0]
    plan = found.plan(head, choices, notes)
    left = [one.path.name for one in heads if one not in fitting]
    if left:
        notes.warnings.append(f"left out, something else: {', '.join(left)}.")
    dump = Dump(
        path=path,
        files=tuple(one.path for one in fitting),
        format=f"{found.title}, {_WRITTEN[head.kind]}",
        rows_of=plan.rows or plain(head.kind, skip_broken=skip_broken),
        convert=plan.convert,
        notes=notes,
        skip_broken=skip_broken,
    )
    return Recognised(dump=dump, plan=plan)


def _heads(path: Path, notes: Notes) -> list[Head]:
    if not path.is_dir():
        return [look(path)]
    files = in_order(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    heads: list[Head] = []
    for file in files:
        try:
            heads.append(look(file))
        except DataError as error:
            notes.warnings.append(f"left out, not readable: {error}")
    if not heads:
        raise DataError(f"{path} is a folder without a readable file.")
    return heads


def _format(path: Path, heads: list[Head], wanted: str) -> tuple[Format, list[Head]]:
    if wanted and wanted not in names():
        raise unknown_name("dump format", wanted, [*names(), *FORMATS])
    candidates = [one for one in KNOWN if not wanted or one.name == wanted]
    found = {one.name: [h for h in heads if one.matches(h)] for one in candidates}
    fits = [one for one in candidates if found[one.name]]
    if not fits:
        raise _nothing_fits(path, heads[0], candidates)
    if len(heads) > 1 and len(fits) > 1:
        listing = ", ".join(f"{one.name} ({len(found[one.name])} files)" for one in fits)
        raise ConfigError(f"{path.name} holds dumps of several formats, {listing}: give --format.")
    return fits[0], found[fits[0].name]


def _nothing_fits(path: Path, head: Head, candidates: list[Format]) -> ConfigError:
    has = ", ".join(head.columns) or f"{head.kind}, no columns"
    known = "; ".join(f"{one.name}: {one.known_by}" for one in candidates)
    return ConfigError(
        f"cannot tell which tool wrote {path.name} (it has: {has}). Name the columns with --map "
        f"prompt=...,completion=...,score=... Known by themselves are: {known}."
    )
