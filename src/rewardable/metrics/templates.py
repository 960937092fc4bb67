"""Whether outputs to different prompts follow one template, and how that changed. Codes, no text.

All pairs of different prompts are compared (a U-statistic), so estimates are unbiased and the
prompts' influence values give the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from rewardable.errors import DataError
from rewardable.metrics.checks import Floats, level_alpha, row_prompts
from rewardable.metrics.intervals import Interval
from rewardable.metrics.ratios import influence_interval

_MOST_PAIRED = 1500


def template_reuse(
    template_R: ArrayLike,
    prompt_R: ArrayLike,
    n_prompts: int,
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Estimate how often outputs to two different prompts follow one template.

    Parameters
    ----------
    template_R: integer code of each row's template, equal if and only if the templates are.
    prompt_R: prompt of each row, shape [R].
    n_prompts: P, at least 2 of them with rows.
    level: confidence.
    clusters: the group of each prompt, shape [P]; None makes every prompt a group of its own.

    Returns
    -------
    Interval of the probability.

    Raises
    ------
    DataError: unusable codes, fewer than 2 prompts with rows.

    What it measures
    ----------------
    Whether the policy answers everything by one pattern.

    Estimand and assumptions
    ------------------------
    P(same template) for one rollout each of two prompts drawn at random; the mean over all pairs
    of different prompts, a U-statistic, hence unbiased.

    When it misleads
    ----------------
    All depends on what counts as a template; the code decides. A required format is reuse.

    Example
    -------
    >>> round(template_reuse([1, 1, 1, 2], [0, 0, 1, 2], 3).mean, 4)
    0.3333

    Source
    ------
    Hoeffding 1948 (U-statistics) for estimate and influence values.
    """
    level_alpha(level)
    used = _used(prompt_R, n_prompts, template_R)
    found = _matches(template_R, prompt_R, used)
    return influence_interval(
        found.value,
        found.influence_P,
        level=level,
        clusters=_of_used(clusters, used),
        span=(0.0, 1.0),
        informative_P=found.own_P,
    )


def template_reuse_change(
    before: tuple[ArrayLike, ArrayLike],
    after: tuple[ArrayLike, ArrayLike],
    n_prompts: int,
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
) -> Interval:
    """Estimate the paired change of :func:`template_reuse`: after minus before.

    Parameters
    ----------
    before, after: (template_R, prompt_R) of either side; templates need no common code.
    n_prompts: P, row i of both about one prompt; only prompts with rows on both sides count.
    level, clusters: as in :func:`template_reuse`.

    Returns
    -------
    Interval of the difference of two probabilities.

    Raises
    ------
    DataError: unusable codes, fewer than 2 prompts with rows on both sides.

    What it measures
    ----------------
    Whether training made the policy answer more by one pattern.

    Estimand and assumptions
    ------------------------
    The difference of the two probabilities over one population of prompts. Influence values of
    the sides are subtracted prompt by prompt, so what both share cancels.

    When it misleads
    ----------------
    As :func:`template_reuse`: learning a required format is a rise.

    Example
    -------
    >>> one = [0, 1, 2, 3] * 10, list(range(40))
    >>> same = [0] * 40, list(range(40))
    >>> found = template_reuse_change(one, same, 40)
    >>> round(found.mean, 3)
    0.769

    Source
    ------
    Hoeffding 1948, applied to the difference of two U-statistics.
    """
    level_alpha(level)
    sides = (before, after)
    masks = [_held(prompt_R, n_prompts, template_R) for template_R, prompt_R in sides]
    used = _enough(np.flatnonzero(masks[0] & masks[1]))
    old, new = (_matches(template_R, prompt_R, used) for template_R, prompt_R in sides)
    return influence_interval(
        new.value - old.value,
        new.influence_P - old.influence_P,
        level=level,
        clusters=_of_used(clusters, used),
        span=(-1.0, 1.0),
        informative_P=new.own_P - old.own_P,
    )


@dataclass(frozen=True, kw_only=True)
class _Matches:
    """The share of matching pairs: of all, of each prompt's, and its influence values."""

    value: float
    own_P: Floats
    influence_P: Floats


def _matches(template_R: ArrayLike, prompt_R: ArrayLike, used: np.ndarray) -> _Matches:
    """Match the templates of every pair of the prompts ``used``."""
    template, prompt = np.asarray(template_R), np.asarray(prompt_R)
    place = np.full(int(prompt.max(initial=0)) + 1, -1, dtype=np.int64)
    known = used[used < place.size]
    place[known] = np.arange(known.size)
    keep = (template >= 0) & (place[prompt] >= 0)
    code = np.unique(template[keep], return_inverse=True)[1].reshape(-1)
    size = used.size
    counts = csr_array((np.ones(code.size), (place[prompt[keep]], code)), (size, code.max() + 1))
    shares = csr_array(counts.multiply(1.0 / counts.sum(axis=1).reshape(-1, 1)))
    total_T = shares.sum(axis=0)
    square_P = shares.multiply(shares).sum(axis=1)
    own_P = np.clip((shares @ total_T - square_P) / (size - 1), 0.0, 1.0)
    value = float(own_P.mean())
    influence_P = 2 * _second_order(shares, own_P) * (own_P - value)
    return _Matches(value=value, own_P=own_P, influence_P=influence_P)


def _second_order(shares: csr_array, own_P: Floats) -> float:
    """Return by how much the variance of pairs widens the first-order standard error.

    A U-statistic over few prompts, or one whose first-order term nearly vanishes, also varies with
    the pairs themselves: 2 zeta_2 / (P (P-1)) beside 4 zeta_1 / P (Hoeffding 1948).
    """
    size = own_P.size
    if size > _MOST_PAIRED:
        return 1.0
    match = (shares @ shares.T).toarray()
    pairs = match[np.triu_indices(size, 1)]
    first, second = 4 * float(own_P.var()) / size, 2 * float(pairs.var()) / (size * (size - 1))
    return float(np.sqrt(1 + second / first)) if first > 0 else 1.0


def _held(prompt_R: ArrayLike, n_prompts: int, template_R: ArrayLike) -> np.ndarray:
    """Return which prompts have a row with a template; DataError for unusable codes."""
    template = np.asarray(template_R)
    if template.ndim != 1 or (template.size and template.dtype.kind not in "iu"):
        raise DataError(f"template_R must be a vector of integers, got {template.dtype}.")
    prompt = row_prompts(prompt_R, n_prompts, template.size)
    return np.bincount(prompt[template >= 0], minlength=n_prompts) > 0


def _used(prompt_R: ArrayLike, n_prompts: int, template_R: ArrayLike) -> np.ndarray:
    return _enough(np.flatnonzero(_held(prompt_R, n_prompts, template_R)))


def _enough(used: np.ndarray) -> np.ndarray:
    if used.size < 2:
        raise DataError(f"template reuse needs rows of at least 2 prompts, got {used.size}.")
    return used


def _of_used(clusters: ArrayLike | None, used: np.ndarray) -> np.ndarray | None:
    return None if clusters is None else np.asarray(clusters)[used]
