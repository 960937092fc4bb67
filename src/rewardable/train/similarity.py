"""How alike the texts of one group are: Jaccard similarity of their sets of n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Unit = Literal["characters", "words"]
Matrix = npt.NDArray[np.float64]
_Codes = npt.NDArray[np.int64]

_COLUMNS = 1 << 16
"""N-grams compared at a time; bounds the memory of a group of long texts."""


def similarity(texts: Sequence[str], *, n: int = 3, unit: Unit = "characters") -> Matrix:
    """Return the similarity of every two texts, shape [G, G]: shared n-grams over all of theirs.

    A text shorter than ``n`` is one n-gram of its own; two empty texts are alike. Exact: n-grams
    are numbered, not hashed.

    >>> similarity(["abcd", "abcx", "abcd"])[0].round(2).tolist()
    [1.0, 0.33, 1.0]
    """
    size = len(texts)
    if not size:
        return np.zeros((0, 0))
    gram_N, row_N = ngrams(_coded(texts, unit), n)
    pairs = np.unique(gram_N * size + row_N)
    gram_N, row_N = pairs // size, pairs % size
    shared = np.zeros((size, size))
    width = min(_COLUMNS, int(gram_N[-1]) + 1)
    for begin in range(0, int(gram_N[-1]) + 1, width):
        first, last = np.searchsorted(gram_N, [begin, begin + width])
        has = np.zeros((size, width), dtype=np.float32)
        has[row_N[first:last], gram_N[first:last] - begin] = 1.0
        shared += has @ has.T
    count_G = np.diagonal(shared)
    return shared / (count_G[:, None] + count_G[None, :] - shared)


def _coded(texts: Sequence[str], unit: Unit) -> list[_Codes]:
    """Give characters or words numbers from 1, in every text; 0 fills short texts up."""
    if unit == "characters":
        raw = [np.array([ord(c) for c in text], dtype=np.int64) for text in texts]
        _, code_N = np.unique(np.concatenate(raw), return_inverse=True)
        ends = np.cumsum([len(codes) for codes in raw])[:-1]
        return [codes + 1 for codes in np.split(code_N.reshape(-1).astype(np.int64), ends)]
    known: dict[str, int] = {}
    return [
        np.array([known.setdefault(word, len(known) + 1) for word in text.split()], dtype=np.int64)
        for text in texts
    ]


def ngrams(rows: Sequence[_Codes], n: int) -> tuple[_Codes, _Codes]:
    """Return the number of every n-gram and the row that it stands in. Codes begin at 1."""
    filled = [row if len(row) >= n else np.pad(row, (0, n - len(row))) for row in rows]
    code_N = np.concatenate(filled)
    row_N = np.repeat(np.arange(len(filled)), [len(row) for row in filled])
    width = int(code_N.max()) + 1
    gram: Any = code_N
    for step in range(1, n):
        _, gram = np.unique(gram[:-1] * width + code_N[step:], return_inverse=True)
        gram = gram.reshape(-1).astype(np.int64)
    inside = row_N[: len(gram)] == row_N[n - 1 :]
    _, gram = np.unique(gram[inside], return_inverse=True)
    return gram.reshape(-1).astype(np.int64), row_N[: len(inside)][inside].astype(np.int64)
