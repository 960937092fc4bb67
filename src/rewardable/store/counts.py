"""Imported counts: successes among samples, where the samples themselves are not known."""

# pyright: reportUnknownParameterType=false
# (pyarrow has no types)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rewardable.errors import DataError
from rewardable.store.schema import COUNTS

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Per prompt (P, sorted by key): ``n_P`` graded samples, ``c_P`` successes among them."""

    prompt_keys: tuple[str, ...]
    n_P: Integers
    c_P: Integers
    totals: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


def counts_to_table(
    policy_keys: Sequence[str],
    prompt_keys: Sequence[str],
    n: Sequence[int],
    c: Sequence[int],
    *,
    spec_key: str,
    provenance: str,
) -> pa.Table:
    """Encode counts; DataError when one cannot be."""
    for prompt_key, n_row, c_row in zip(prompt_keys, n, c, strict=True):
        if not 0 <= c_row <= n_row:
            raise DataError(f"prompt {prompt_key}: expected 0 <= c <= n, got c={c_row}, n={n_row}.")
    columns = {
        "policy_key": policy_keys,
        "spec_key": [spec_key] * len(policy_keys),
        "prompt_key": prompt_keys,
        "n": n,
        "c": c,
        "provenance": [provenance] * len(policy_keys),
    }
    return pa.table(columns, schema=COUNTS)
