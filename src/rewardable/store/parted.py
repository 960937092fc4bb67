"""The named parts of verdicts, laid out by rollout when somebody asks."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


class Parts(Mapping[str, Floats]):
    """Part name -> its value for each rollout, NaN where the verdict has none or left it open.

    column: maps of part names to values, one a verdict. verdict_R: the verdict of each rollout,
    -1 where it has none.
    """

    def __init__(self, column: pa.ChunkedArray, verdict_R: Rows) -> None:
        self._column = column
        self._verdict_R = verdict_R

    def __getitem__(self, name: str) -> Floats:
        """Return one value a rollout; KeyError for a part that no verdict has."""
        value_V = self._values[name]
        found_R = np.full(self._verdict_R.size, np.nan)
        judged_R = self._verdict_R >= 0
        found_R[judged_R] = value_V[self._verdict_R[judged_R]]
        return found_R

    def __iter__(self) -> Iterator[str]:
        """Iterate over the part names, sorted."""
        return iter(self._values)

    def __len__(self) -> int:
        """Return how many part names there are."""
        return len(self._values)

    def at(self, keep_R: npt.NDArray[np.bool_]) -> Parts:
        """Return the parts of some rollouts."""
        return Parts(self._column, self._verdict_R[keep_R])

    @cached_property
    def _values(self) -> dict[str, Floats]:
        entry = pa.struct([("key", pa.string()), ("value", pa.float64())])
        lists = self._column.combine_chunks().cast(pa.list_(entry))
        counts = lists.value_lengths().fill_null(0).to_numpy()
        row_L = np.repeat(np.arange(len(lists), dtype=np.int64), counts)
        flat = lists.flatten()
        names = flat.field(0).dictionary_encode()
        name_L = names.indices.to_numpy(zero_copy_only=False)
        value_L = flat.field(1).to_numpy(zero_copy_only=False)
        found: dict[str, Floats] = {}
        known: list[str] = names.dictionary.to_pylist()
        for name in sorted(known):
            chosen_L = name_L == known.index(name)
            found[name] = np.full(len(lists), np.nan)
            found[name][row_L[chosen_L]] = value_L[chosen_L]
        return found


def parts_at(parts: Mapping[str, Floats], keep_R: npt.NDArray[np.bool_]) -> Mapping[str, Floats]:
    """Return the parts of some rollouts, still not laid out."""
    if isinstance(parts, Parts):
        return parts.at(keep_R)
    return {name: value_R[keep_R] for name, value_R in parts.items()}
