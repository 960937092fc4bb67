"""Reading a difference band: certified gains and losses, the crossing, the first lost budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, Ints, budgets
from rewardable.metrics.intervals import Band


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """What a simultaneous band certifies about the sign of a difference curve.

    gain, loss: budgets at which the whole band lies above 0, below 0.
    crosses: a certified gain at some budget and a certified loss at a larger one.
    crossing_set: budgets between the last certified gain before the first certified loss and that
        loss: the curve passes 0 within it. Empty when ``crosses`` is false.
    first_certified_loss: the smallest budget in ``loss``, or None.
    first_loss_set: confidence set for the first budget with a true loss; None on a grid that is
        not 1, 2, ..., K, where a loss may hide between two budgets.
    may_be_never: true when the data also allow that no budget of the grid shows a loss.
    """

    gain: tuple[int, ...]
    loss: tuple[int, ...]
    crosses: bool
    crossing_set: tuple[int, ...]
    first_certified_loss: int | None
    first_loss_set: tuple[int, ...] | None
    may_be_never: bool


def crossing(band: Band, k_K: ArrayLike) -> Crossing:
    """Read certified gains, losses and the crossing off a paired band.

    Parameters
    ----------
    band: what :func:`paired_band` gave for the budgets ``k_K``.
    k_K: the budgets of its columns, strictly increasing.

    Returns
    -------
    Crossing.

    Raises
    ------
    DataError: budgets that do not fit the band or do not increase.

    What it measures
    ----------------
    From which budget on the later policy is worse although it is better at small budgets.

    Estimand and assumptions
    ------------------------
    The sign of the mean difference at every budget. All statements hold together at the band's
    level, since the band is simultaneous. The confidence set for the first losing budget holds
    every budget that is not certified to be free of loss, up to the first certified loss.

    When it misleads
    ----------------
    On a sparse grid nothing is said about budgets between the columns. Undefined columns (NaN)
    certify nothing. The set can be wide: a flat difference curve crosses slowly.

    Example
    -------
    >>> low, high = np.array([0.1, -0.1, -0.3]), np.array([0.3, 0.1, -0.1])
    >>> band = Band(mean_K=(low + high) / 2, low_K=low, high_K=high, pointwise_low_K=low,
    ...             pointwise_high_K=high, conservative_K=low > 9, level=0.95, critical=2.4,
    ...             method="")
    >>> found = crossing(band, [1, 2, 3])
    >>> found.crosses, found.first_loss_set, found.first_certified_loss
    (True, (2, 3), 3)

    Source
    ------
    Inversion of a simultaneous band; the first-loss set as in passk-inference, sharpened to leave
    out every budget that the band shows to be free of loss.
    """
    k, low, high = _checked(band, k_K)
    gain, loss = k[low > 0], k[high < 0]
    first = int(loss[0]) if loss.size else None
    before = gain[gain < first] if first is not None else gain[:0]
    crosses = bool(gain.size and loss.size and gain[0] < loss[-1])
    span = _span(k, before, first) if before.size and first is not None else ()
    dense = bool(np.array_equal(k, np.arange(1, k.size + 1)))
    possible = k[(low < 0) & (k <= (first if first is not None else k[-1]))]
    return Crossing(
        gain=tuple(gain.tolist()),
        loss=tuple(loss.tolist()),
        crosses=crosses,
        crossing_set=span,
        first_certified_loss=first,
        first_loss_set=tuple(possible.tolist()) if dense else None,
        may_be_never=first is None,
    )


def _span(k: Ints, before: Ints, first: int) -> tuple[int, ...]:
    inside = k[(k > before[-1]) & (k <= first)]
    return tuple(inside.tolist())


def _checked(band: Band, k_K: ArrayLike) -> tuple[Ints, Floats, Floats]:
    k, _ = budgets(np.asarray(k_K))
    if k.shape != band.low_K.shape:
        raise DataError(f"the band has {band.low_K.size} columns, k_K names {k.size} budgets.")
    if (np.diff(k) <= 0).any():
        raise DataError("k_K must increase strictly.")
    low = np.where(np.isnan(band.low_K), -np.inf, band.low_K)
    high = np.where(np.isnan(band.high_K), np.inf, band.high_K)
    return k, low, high
