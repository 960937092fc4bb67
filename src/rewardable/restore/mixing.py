"""The arithmetic of a merge, in float32 and in pieces of rows."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import reduce

import torch

from rewardable.restore.parents import Parent
from rewardable.restore.plan import Blend
from rewardable.restore.tensors import DTYPES, spans
from rewardable.restore.vocabulary import ABSENT, Vocabulary

STRAIGHT = 0.9995
"""Cosine from which slerp is linear: the arc then is no longer than its chord by 2e-4."""

RowMap = tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True)
class Piece:
    """Rows of the result. ``trained`` is what mixed values are compared with, None for a copy."""

    values: torch.Tensor
    trained: torch.Tensor | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """One tensor of all parents, rows by the result's numbering."""

    parents: tuple[Parent, ...]
    key: str
    rows: int
    maps: tuple[RowMap, ...]
    host: int

    def spans(self) -> Iterator[tuple[int, int]]:
        """Return the pieces' first row and stop."""
        return spans(self.rows, self.parents[self.host].entry(self.key).width)

    def read(self, parent: int, start: int, stop: int) -> torch.Tensor:
        """Return a parent's rows as stored; rows that it lacks are zero."""
        rows = self.maps[parent]
        if rows is None:
            return self.parents[parent].rows(self.key, start, stop)
        entry = self.parents[parent].entry(self.key)
        parts = [
            self.parents[parent].rows(self.key, first, first + count)
            if first != ABSENT
            else torch.zeros((count, entry.width), dtype=DTYPES[entry.dtype])
            for first, count in runs(rows[start:stop])
        ]
        widest = reduce(torch.promote_types, (part.dtype for part in parts))
        return torch.cat([part.to(widest) for part in parts])

    def present(self, parents: tuple[int, ...], start: int, stop: int) -> torch.Tensor | None:
        """Return which rows all of ``parents`` have, or None when it is every row."""
        maps = [rows for i in parents if (rows := self.maps[i]) is not None]
        if not maps:
            return None
        known_R = [all(rows[i] != ABSENT for rows in maps) for i in range(start, stop)]
        return None if all(known_R) else torch.tensor(known_R)

    def fallback(self, start: int, stop: int) -> torch.Tensor:
        """Return the rows that are kept where not all have them: the trained one's, else host's."""
        own = self.read(0, start, stop)
        if self.host == 0:
            return own
        known_R = self.present((0,), start, stop)
        if known_R is None:
            return own
        host = self.read(self.host, start, stop)
        return torch.where(known_R[:, None], *_same_type(own, host))


def source(parents: tuple[Parent, ...], key: str, vocabulary: Vocabulary | None) -> Source:
    """Return one tensor of all parents; ``vocabulary`` for tensors with a row a token."""
    if vocabulary is None:
        maps: tuple[RowMap, ...] = (None,) * len(parents)
        return Source(parents=parents, key=key, rows=parents[0].entry(key).rows, maps=maps, host=0)
    return Source(
        parents=parents,
        key=key,
        rows=vocabulary.rows,
        maps=vocabulary.maps,
        host=vocabulary.host,
    )


def runs(rows: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield (first, count) of consecutive rows; absent ones as (-1, count)."""
    start = 0
    for i in range(1, len(rows) + 1):
        step = 0 if rows[start] == ABSENT else i - start
        if i == len(rows) or rows[i] != rows[start] + step:
            yield rows[start], i - start
            start = i


def pieces(tensor: Source, blend: Blend) -> Generator[Piece, None, bool]:
    """Yield the result in order; return whether slerp took the straight way."""
    only = blend.only
    if only is not None:
        for start, stop in tensor.spans():
            yield _copied(tensor, only, start, stop)
        return False
    arc = _arc(tensor, blend) if blend.arc else None
    for start, stop in tensor.spans():
        yield _mixed(tensor, blend, arc, start, stop)
    return blend.arc and arc is None


def _copied(tensor: Source, only: int, start: int, stop: int) -> Piece:
    values = tensor.read(only, start, stop)
    known_R = tensor.present((only,), start, stop)
    if known_R is not None:
        kept = tensor.fallback(start, stop)
        values = torch.where(known_R[:, None], *_same_type(values, kept))
    return Piece(values=values)


def _mixed(
    tensor: Source, blend: Blend, arc: tuple[float, float] | None, start: int, stop: int
) -> Piece:
    anchor = _wide(tensor.read(blend.anchor, start, stop))
    if arc is not None:
        values = arc[0] * anchor + arc[1] * _wide(tensor.read(blend.terms[0][0], start, stop))
    else:
        moved = torch.zeros_like(anchor)
        for parent, weight in blend.terms:
            moved += weight * (_wide(tensor.read(parent, start, stop)) - anchor)
        # where nothing moves the anchor stands as it is, the sign of a zero included
        values = torch.where(moved == 0, anchor, anchor + moved)
    trained = anchor if blend.anchor == 0 else _wide(tensor.read(0, start, stop))
    known_R = tensor.present(blend.involved, start, stop)
    if known_R is not None:
        kept = _wide(tensor.fallback(start, stop))
        values = torch.where(known_R[:, None], *_same_type(values, kept))
        trained = torch.where(known_R[:, None], *_same_type(trained, kept))
    return Piece(values=values, trained=trained)


def _arc(tensor: Source, blend: Blend) -> tuple[float, float] | None:
    """Return slerp's two coefficients, or None where the linear ones are to be used."""
    ((other, t),) = blend.terms
    dot = one = two = 0.0
    for start, stop in tensor.spans():
        a = tensor.read(blend.anchor, start, stop).double()
        b = tensor.read(other, start, stop).double()
        known_R = tensor.present((blend.anchor, other), start, stop)
        if known_R is not None:
            a, b = a[known_R], b[known_R]
        dot += float((a * b).sum())
        one += float((a * a).sum())
        two += float((b * b).sum())
    if one == 0 or two == 0:
        return None
    cosine = max(-1.0, min(1.0, dot / math.sqrt(one * two)))
    if abs(cosine) > STRAIGHT:
        return None
    angle = math.acos(cosine)
    return math.sin((1 - t) * angle) / math.sin(angle), math.sin(t * angle) / math.sin(angle)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _same_type(one: torch.Tensor, two: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    widest = torch.promote_types(one.dtype, two.dtype)
    return one.to(widest), two.to(widest)
