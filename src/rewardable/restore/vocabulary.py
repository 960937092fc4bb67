"""Which row of one parent's embedding stands for which row of another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.errors import DataError
from rewardable.restore.folders import read_json, some
from rewardable.restore.parents import Parent
from rewardable.restore.places import EMBEDDING, HEAD

ABSENT = -1


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Rows of the result. ``host`` is the parent whose tokens it has; ``maps`` holds for each
    parent its row for each row of the result (-1: none), or None where they are the same.
    """

    host: int
    rows: int
    maps: tuple[tuple[int, ...] | None, ...]
    notes: tuple[str, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether all parents have the same rows."""
        return all(rows is None for rows in self.maps)


def match_vocabularies(parents: Sequence[Parent], policy: str) -> Vocabulary:
    """Match rows by token; DataError with the reason where ``policy`` does not allow it."""
    sizes = [parent.entry(EMBEDDING).rows if parent.has(EMBEDDING) else 0 for parent in parents]
    for parent, size in zip(parents, sizes, strict=True):
        if parent.has(HEAD) and parent.entry(HEAD).rows != size and size:
            raise DataError(
                f"{parent.source} has {size} rows in the embedding and "
                f"{parent.entry(HEAD).rows} in the head."
            )
    tokens = [_tokens(parent) for parent in parents]
    host = _host(parents, sizes, tokens) if policy == "union" else 0
    maps = tuple(_rows(tokens[host], sizes[host], tokens[i], sizes[i]) for i in range(len(parents)))
    notes = tuple(
        text
        for i in range(len(parents))
        if maps[i] is not None
        for text in [_difference(parents[host], parents[i], maps[i] or (), sizes[i])]
    )
    if notes and policy == "refuse":
        raise DataError(
            f"{notes[0]} Set vocabulary to 'trained' (its tokens alone) or 'union' to keep rows "
            "that only one of them has."
        )
    return Vocabulary(host=host, rows=sizes[host], maps=maps, notes=notes)


def _difference(host: Parent, parent: Parent, rows: tuple[int, ...], size: int) -> str:
    lacking = sum(1 for row in rows if row == ABSENT)
    moved = sum(1 for i, row in enumerate(rows) if row not in (ABSENT, i))
    dropped = size - len({row for row in rows if row != ABSENT})
    return (
        f"{parent.source} and {host.source} have different vocabularies: {lacking} of {len(rows)} "
        f"rows of the second are not in the first, {dropped} rows only the first has, {moved} "
        "tokens have another id."
    )


def _rows(
    host: dict[str, int], host_size: int, other: dict[str, int], size: int
) -> tuple[int, ...] | None:
    """Return the other's row for each of the host's, or None when all are the same."""
    if host == other or not host or not other:
        if host_size == size:
            return None
        return tuple(i if i < size else ABSENT for i in range(host_size))
    named = {row: token for token, row in host.items()}
    taken = set(other.values())
    found: list[int] = []
    for i in range(host_size):
        token = named.get(i)
        if token is None:  # padding: a row without a token on both sides
            found.append(i if i < size and i not in taken else ABSENT)
        else:
            row = other.get(token, ABSENT)
            found.append(row if row < size else ABSENT)
    same = host_size == size and all(row == i for i, row in enumerate(found))
    return None if same else tuple(found)


def _host(parents: Sequence[Parent], sizes: Sequence[int], tokens: list[dict[str, int]]) -> int:
    """Return the parent with the most rows; it must have the trained one's tokens in place."""
    host = max(range(len(parents)), key=lambda i: (sizes[i], -i))
    moved = [token for token, row in tokens[0].items() if tokens[host].get(token) != row]
    if moved and tokens[host]:
        raise DataError(
            f"{parents[host].source} has other ids for {len(moved)} tokens of "
            f"{parents[0].source} ({some(sorted(moved))}), so it cannot give the vocabulary. "
            "Set vocabulary to 'trained'."
        )
    return host


def _tokens(parent: Parent) -> dict[str, int]:
    """Return token -> row as the tokenizer's files say; empty when they cannot be read here."""
    at = parent.tokenizer_at
    found: dict[str, int] = {}
    added: list[dict[str, Any]] = []
    if (at / "tokenizer.json").is_file():
        raw = read_json(at / "tokenizer.json")
        vocab = raw["model"].get("vocab") if isinstance(raw.get("model"), dict) else None
        if isinstance(vocab, dict):
            found = {str(token): int(row) for token, row in vocab.items()}
        elif isinstance(vocab, list):  # unigram: pairs of piece and score
            found = {str(pair[0]): row for row, pair in enumerate(vocab)}
        added = raw.get("added_tokens") or []
    elif (at / "vocab.json").is_file():
        found = {str(token): int(row) for token, row in read_json(at / "vocab.json").items()}
        if (at / "added_tokens.json").is_file():
            found.update(read_json(at / "added_tokens.json"))
    return found | {str(token["content"]): int(token["id"]) for token in added}
