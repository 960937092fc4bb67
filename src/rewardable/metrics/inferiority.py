"""Whether a policy is worse than another by no more than a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, finite_vector, level_alpha, probability
from rewardable.metrics.intervals import paired_interval
from rewardable.metrics.units import Bounds, make_units

_MOST = 1 << 40


@dataclass(frozen=True, kw_only=True)
class NonInferiority:
    """A paired difference against a margin.

    difference: mean of after - before. low: its lower bound, one-sided at ``level``.
    certified: whether ``low`` lies above -margin.
    least_margin: the smallest margin that these values certify; 0 where even a gain is certified.
    carried: the margin that so many prompts certify with chance ``power`` if nothing changed.
    needed: prompts at which ``margin`` would be carried, about; infinite margins need none.
    chance: normal approximation of "the change is above -margin"; for ranking, no claim.
    """

    difference: float
    low: float
    margin: float
    certified: bool
    least_margin: float
    carried: float
    needed: int
    chance: float
    level: float
    power: float
    n_prompts: int
    method: str
    warnings: tuple[str, ...] = ()


def non_inferiority(
    before_P: ArrayLike,
    after_P: ArrayLike,
    margin: float,
    *,
    level: float = 0.95,
    power: float = 0.8,
    clusters: ArrayLike | None = None,
    bounds: Bounds = "auto",
) -> NonInferiority:
    """Judge whether ``after`` is below ``before`` by less than ``margin``; both by prompt.

    Parameters
    ----------
    before_P, after_P: per-prompt values, shape [P], row i of both about one prompt.
    margin: the loss that is accepted, in units of the values (0.01: one point), above 0.
    level: one-sided confidence of the lower bound.
    power: chance with which a margin counts as carried when nothing changed.
    clusters, bounds: as in :func:`paired_interval`.

    Returns
    -------
    NonInferiority.

    Raises
    ------
    ConfigError: a margin that is not above 0, a level or power outside (0, 1).
    DataError: vectors of different length, NaN or empty; names the rows.

    What it measures
    ----------------
    "No worse than by the margin", which "no significant difference" does not say: too few prompts
    show no difference either. Here too few prompts certify nothing.

    Estimand and assumptions
    ------------------------
    The mean over the population of prompts of after - before, as in :func:`paired_interval`; the
    bound is its lower end at two-sided 2 x level - 1. ``carried`` adds what the observed
    difference may miss by, z(power) standard errors; ``needed`` takes both to shrink with the root
    of the number of prompts.

    When it misleads
    ----------------
    For a policy that was chosen among many because of these very values the bound does not hold:
    judge it on other prompts. It says nothing of training seeds. ``needed`` and ``chance`` rest on
    the spread that was seen.

    Example
    -------
    >>> before, after = np.tile([0.2, 0.8], 50), np.tile([0.25, 0.75], 50)
    >>> found = non_inferiority(before, after, 0.01)
    >>> found.certified, round(found.low, 4), found.needed
    (True, -0.0083, 159)

    Source
    ------
    The confidence-interval form of non-inferiority trials (ICH E9).
    """
    if not margin > 0:
        raise ConfigError(f"margin must be above 0, got {margin!r}; 0.01 is one point.")
    if not 0.5 <= level < 1:
        raise ConfigError(f"level must lie in [0.5, 1), got {level!r}.")
    level_alpha(probability(power, "power"))
    before, after = finite_vector(before_P, "before_P"), finite_vector(after_P, "after_P")
    two_sided = max(2 * level - 1, 1e-9)
    found = paired_interval(before, after, level=two_sided, clusters=clusters, bounds=bounds)
    error = _standard_error(after - before, clusters)
    low = found.low if np.isfinite(found.low) else -np.inf
    carried = found.mean - low + float(ndtri(power)) * error
    return NonInferiority(
        difference=found.mean,
        low=low,
        margin=margin,
        certified=bool(low > -margin),
        least_margin=max(0.0, -low),
        carried=carried,
        needed=_needed(before.size, carried, margin),
        chance=_chance(found.mean, error, margin),
        level=level,
        power=power,
        n_prompts=before.size,
        method=f"one-sided; {found.method}",
        warnings=found.warnings,
    )


def _standard_error(difference_P: Floats, clusters: ArrayLike | None) -> float:
    residual_M = make_units(difference_P[:, None], clusters).residual_MK[:, 0]
    size = residual_M.size
    if size < 2:
        return float("inf")
    return float(np.sqrt(np.square(residual_M).sum() / (size - 1) / size))


def _needed(n_prompts: int, carried: float, margin: float) -> int:
    wanted = n_prompts * (carried / margin) ** 2
    return int(min(np.ceil(wanted), _MOST))


def _chance(mean: float, error: float, margin: float) -> float:
    if error == 0:
        return float(mean > -margin)
    return float(ndtr((mean + margin) / error))
