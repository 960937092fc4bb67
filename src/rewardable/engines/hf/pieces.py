"""Which text a token stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardable.records import digest

_CONTEXT = 6
"""Tokens decoded together with a new one: enough for spaces and multi-byte characters."""
_UNFINISHED = "\ufffd"


def pieces(tokenizer: Any, token_ids: Sequence[int]) -> tuple[str, ...]:
    """Return the text that each id adds to what stands before it, special tokens none.

    A character made of several ids belongs to its last one. Decoding is done in a short window,
    so the cost is linear in the number of ids.
    """
    ids = list(token_ids)
    found: list[str] = []
    start, shown = 0, 0
    for end in range(1, len(ids) + 1):
        text = tokenizer.decode(ids[start:end], skip_special_tokens=True)
        if text.endswith(_UNFINISHED) and end < len(ids):
            found.append("")
            continue
        found.append(text[shown:])
        start = max(0, end - _CONTEXT)
        shown = len(tokenizer.decode(ids[start:end], skip_special_tokens=True))
    return tuple(found)


def vocabulary_key(tokenizer: Any) -> str:
    """Return the digest of the vocabulary: token to id."""
    return digest("vocabulary", sorted(tokenizer.get_vocab().items()))
