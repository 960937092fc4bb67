"""Input that cannot be used is refused here, and the message names the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardable.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def rows_text(bad: NDArray[Any]) -> str:
    """Name the rows where ``bad`` is true: ``"rows 3, 7 (and 12 more)"``."""
    rows = np.flatnonzero(bad)
    shown = ", ".join(str(row) for row in rows[:8])
    more = f" (and {rows.size - 8} more)" if rows.size > 8 else ""
    return f"row{'s' if rows.size > 1 else ''} {shown}{more}"


def vector(values: ArrayLike, name: str) -> Floats:
    """Return a non-empty one-dimensional float array; DataError otherwise."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be numbers, got {values!r:.80}") from error
    if array.ndim != 1 or array.size == 0:
        raise DataError(f"{name} must be a non-empty vector, got shape {array.shape}.")
    return array


def finite_vector(values: ArrayLike, name: str) -> Floats:
    """Return a non-empty vector without NaN or infinity; DataError names the rows."""
    array = vector(values, name)
    refuse(~np.isfinite(array), name, array, "finite; leave undefined rows out on purpose")
    return array


def refuse(bad: NDArray[Any], name: str, got: NDArray[Any], expected: str) -> None:
    """Raise a DataError naming the rows where ``bad`` is true."""
    if bad.any():
        first = np.asarray(got)[np.flatnonzero(bad)[0]]
        raise DataError(f"{name} must be {expected}; {rows_text(bad)} (first: {first!s}).")


def whole_numbers(values: ArrayLike, name: str) -> Ints:
    """Return a non-empty vector of integers >= 0; DataError names the rows."""
    array = finite_vector(values, name)
    refuse(array != np.floor(array), name, array, "whole numbers")
    refuse(array < 0, name, array, ">= 0")
    return array.astype(np.int64)


def counts(
    n_P: ArrayLike, c_P: ArrayLike, names: tuple[str, str] = ("n", "c")
) -> tuple[Ints, Ints]:
    """Return graded rollouts ``n_P`` and successes ``c_P`` as integers with 0 <= c <= n.

    A scalar ``n_P`` stands for all prompts. Raises DataError naming the rows.
    """
    c = whole_numbers(c_P, names[1])
    n = whole_numbers(np.full(c.shape, n_P) if np.ndim(n_P) == 0 else n_P, names[0])
    if n.shape != c.shape:
        raise DataError(f"{names[0]} has {n.size} rows and {names[1]} has {c.size}; pair them.")
    over = c > n
    if over.any():
        raise DataError(f"{names[1]} must not exceed {names[0]}; {rows_text(over)}.")
    return n, c


def budgets(k: int | Sequence[int] | NDArray[Any]) -> tuple[Ints, bool]:
    """Return the budgets as a vector, and whether one scalar was given. ConfigError if < 1."""
    scalar = np.ndim(k) == 0
    raw = np.atleast_1d(np.asarray(k))
    if raw.size == 0 or raw.ndim != 1 or raw.dtype.kind not in "iuf":
        raise ConfigError(f"k must be a whole number >= 1 or a sequence of them, got {k!r:.60}.")
    if not (np.isfinite(raw).all() and (raw == np.floor(raw)).all() and (raw >= 1).all()):
        raise ConfigError(f"k must be whole numbers >= 1, got {k!r:.60}.")
    return raw.astype(np.int64), scalar


def level_alpha(level: float) -> float:
    """Return 1 - level; ConfigError unless 0 < level < 1."""
    if not 0.0 < level < 1.0:
        raise ConfigError(f"level must lie in (0, 1), got {level!r}; 0.95 is usual.")
    return 1.0 - level


def probability(value: float, name: str, *, low_open: bool = False) -> float:
    """Return ``value`` if it is a probability; ConfigError otherwise."""
    if not 0.0 <= value <= 1.0 or (low_open and value == 0.0):
        raise ConfigError(f"{name} must lie in {'(' if low_open else '['}0, 1], got {value!r}.")
    return float(value)


def whole(value: int, name: str, low: int = 1) -> int:
    """Return ``value`` if it is a whole number >= low; ConfigError otherwise."""
    if isinstance(value, bool) or int(value) != value or value < low:
        raise ConfigError(f"{name} must be a whole number >= {low}, got {value!r}.")
    return int(value)


def row_prompts(prompt_R: ArrayLike, n_prompts: int, size: int) -> Ints:
    """Return the prompt index of every row; DataError for one outside 0..n_prompts-1."""
    whole(n_prompts, "n_prompts")
    prompt = np.asarray(prompt_R)
    if prompt.shape != (size,):
        raise DataError(f"prompt_R must have {size} rows like the values, got {prompt.shape}.")
    if size and prompt.dtype.kind not in "iu":
        raise DataError(f"prompt_R must be integers, got {prompt.dtype}.")
    prompt = prompt.astype(np.int64)
    refuse((prompt < 0) | (prompt >= n_prompts), "prompt_R", prompt, f"in 0..{n_prompts - 1}")
    return prompt
