"""The independent units behind an average over prompts: prompts, or clusters of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import ConfigError, DataError
from rewardable.metrics.checks import Bools, Floats, Ints, refuse

Bounds = tuple[float, float] | Literal["auto"] | None

LEAST_INFORMATIVE = 20
LEAST_EFFECTIVE = 8.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """Independent units of an average.

    value_MK: the mean of each unit (a prompt, or a cluster of prompts), shape [M, K].
    weight_M: prompts in the unit over prompts in the largest unit, in (0, 1].
    mean_K: the mean over prompts.
    residual_MK: deviations whose plain mean has the variance of ``mean_K``; they sum to 0.
    """

    value_MK: Floats
    weight_M: Floats
    mean_K: Floats
    residual_MK: Floats


def make_units(values_PK: Floats, clusters: ArrayLike | None) -> Units:
    """Average prompts within clusters. DataError when ``clusters`` does not fit."""
    n_prompts = values_PK.shape[0]
    if clusters is None:
        mean = values_PK.mean(axis=0)
        ones = np.ones(n_prompts)
        return Units(value_MK=values_PK, weight_M=ones, mean_K=mean, residual_MK=values_PK - mean)
    label = np.asarray(clusters)
    if label.shape != (n_prompts,):
        raise DataError(f"clusters must have {n_prompts} rows like the values, got {label.shape}.")
    _, code, size = np.unique(label, return_inverse=True, return_counts=True)
    total = np.zeros((size.size, values_PK.shape[1]))
    np.add.at(total, code.reshape(-1), values_PK)
    value, weight = total / size[:, None], size / size.max()
    mean = (weight @ value) / weight.sum()
    residual = (weight / weight.mean())[:, None] * (value - mean)
    return Units(value_MK=value, weight_M=weight, mean_K=mean, residual_MK=residual)


def resolve_bounds(values: Floats, bounds: Bounds) -> tuple[float, float] | None:
    """Return the range of the values: "auto" is (0, 1) if all lie there, else unknown."""
    if bounds is None:
        return None
    if bounds == "auto":
        return (0.0, 1.0) if ((values >= 0) & (values <= 1)).all() else None
    low, high = bounds
    if not low < high:
        raise ConfigError(f"bounds must be (low, high) with low < high, got {bounds!r}.")
    refuse((values < low) | (values > high), "values", values, f"within the bounds {bounds!r}")
    return low, high


def informative(residual_MK: Floats) -> tuple[Floats, Floats]:
    """Return, per column, units that differ from the commonest value, and the effective number.

    The effective number (sum of squares squared over sum of fourth powers) says how many units
    carry the variance: about the successes for a rare 0/1 outcome, about M/2 for a plain spread.
    """
    moving = residual_MK.shape[0] - _longest_runs(residual_MK)
    square = residual_MK * residual_MK
    fourth = np.einsum("mk,mk->k", square, square)
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = np.where(fourth > 0, square.sum(0) ** 2 / fourth, 0.0)
    return moving.astype(np.float64), effective


def _longest_runs(values_MK: Floats) -> Ints:
    """Return, per column, how many units share the commonest value."""
    ordered = np.sort(values_MK, axis=0)
    tolerance = 1e-12 * np.maximum(1.0, np.abs(values_MK).max(axis=0))
    begins = np.ones(ordered.shape, dtype=bool)
    begins[1:] = np.diff(ordered, axis=0) > tolerance
    row = np.arange(ordered.shape[0])[:, None]
    began = np.maximum.accumulate(np.where(begins, row, 0), axis=0)
    return (row - began).max(axis=0) + 1


def trusted(residual_MK: Floats) -> Bools:
    """Return the columns whose large-sample interval can be trusted (enough informative units)."""
    moving, effective = informative(residual_MK)
    return (moving >= LEAST_INFORMATIVE) & (effective >= LEAST_EFFECTIVE)
