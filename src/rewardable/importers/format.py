"""What a reader of one tool's dumps offers: how to tell them, and what their columns mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, unknown_name
from rewardable.importers.sources import Damage, Row

RowReader = Callable[[Path, Damage], Iterator[Row]]
Convert = Callable[[Row], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """How a file begins. ``kind``: jsonl, csv, tsv, parquet, zip (of inspect_ai) or json (its log).

    row: the first record; columns: its names, in their order. numeric: columns of numbers, of a
    table that says so.
    """

    path: Path
    kind: str
    columns: tuple[str, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    numeric: tuple[str, ...] = ()

    def has(self, *columns: str) -> bool:
        """Return whether all these columns are there."""
        return set(columns) <= set(self.columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """What a user may settle where a dump leaves it open; empty is not settled.

    score: the column, metric or scorer that says what a success is. filter: whose reading of the
    answers counts (lm-eval).
    """

    score: str = ""
    filter: str = ""


@dataclass(slots=True)
class Notes:
    """What a reader took for granted, left out, and wants its user to know."""

    assumptions: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    """why rows were left out -> how many"""

    def warn_once(self, sentence: str) -> None:
        """Add a warning that is not there yet."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How to read dumps that begin like this one.

    fields: target -> column, as in a field map. success: the tool's rule, None for true/false or
    1/0. rows: reads a file; None reads it as lines or a table. convert: makes rows of a row of the
    file; raises DataError for one that cannot be used. task, policy: names that the file gives.
    """

    fields: Mapping[str, str]
    success: str | None = None
    rows: RowReader | None = None
    convert: Convert | None = None
    task: str | None = None
    policy: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """One tool's dumps. ``known_by``: what tells them, for people.

    uses: choices it takes. many: a folder of such files is one dump.
    """

    name: str
    title: str
    known_by: str
    matches: Callable[[Head], bool]
    plan: Callable[[Head, Choices, Notes], Plan]
    uses: tuple[str, ...] = ()
    many: bool = False

    def check(self, choices: Choices) -> None:
        """Raise ConfigError for a choice that such dumps do not leave open."""
        for option in ("score", "filter"):
            if getattr(choices, option) and option not in self.uses:
                raise ConfigError(f"--{option} means nothing for {self.title}; leave it out.")


def chosen(what: str, option: str, given: str, found: Sequence[str], where: str) -> str:
    """Return the given name, or the only one there is; ConfigError where one must be chosen."""
    if given:
        if given not in found:
            raise unknown_name(f"{what} of {where}:", given, found)
        return given
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(f"{where} has no {what}.")
    raise ConfigError(
        f"{where} has {len(found)} {what}s, {', '.join(found)}; each says something else of the "
        f"same answers, so choose one with --{option}."
    )
