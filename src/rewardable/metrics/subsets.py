"""Ratios of binomial coefficients, in log space, accurate for n up to 1e5 and beyond.

Every unbiased estimator of this package is a sum of C(n-c, k) / C(n, k): the share of the
k-subsets of n rows that miss c marked ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rewardable.metrics.checks import Floats, Ints

_DIRECT = 32
_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


def log_miss(n: Ints, c: Ints, k: Ints) -> Floats:
    """Return log C(n-c, k) - log C(n, k), broadcast; NaN where n < k, -inf where n - c < k.

    The Stirling terms of the four factorials are combined before they are evaluated, so that
    nothing large cancels: absolute error below 1e-14 where the ratio is not negligible.
    """
    n, c, k = np.broadcast_arrays(n, c, k)
    out = np.full(n.shape, -np.inf)
    out[n < k] = np.nan
    out[(n >= k) & ((c == 0) | (k == 0))] = 0.0
    edge = (n - c == k) & (c > 0) & (k > 0)
    out[edge] = -log_choose(n[edge], c[edge])
    inner = (n - c > k) & (c > 0) & (k > 0)
    out[inner] = _inner(*(part[inner].astype(np.float64) for part in (n, c, k)))
    return out


def miss(n: Ints, c: Ints, k: Ints) -> Floats:
    """Return C(n-c, k) / C(n, k), broadcast; NaN where n < k."""
    return np.exp(log_miss(n, c, k))


def hit(n: Ints, c: Ints, k: Ints) -> Floats:
    """Return 1 - C(n-c, k) / C(n, k), broadcast, without cancellation; NaN where n < k."""
    return 0.0 - np.expm1(log_miss(n, c, k))


def _inner(n: Floats, c: Floats, k: Floats) -> Floats:
    # The pair (c, k) enters symmetrically. Four factorials n!, (n-c)!, (n-k)!, (n-c-k)!.
    rest = n - c - k
    cross = -(c / (n - c)) * (k / (n - k))
    log_cross = np.where(
        cross > -0.5, np.log1p(np.maximum(cross, -0.5)), np.log((n / (n - c)) * (rest / (n - k)))
    )
    terms = (rest + 0.5) * log_cross - k * np.log1p(-c / n) - c * np.log1p(-k / n)
    bend = _stirling_rest(n) - _stirling_rest(n - c) - _stirling_rest(n - k) + _stirling_rest(rest)
    return np.minimum(-(terms + bend), 0.0)


def _stirling_rest(x: Floats) -> Floats:
    """Return log x! minus its leading Stirling terms, for x >= 1."""
    big = np.maximum(x, _DIRECT)
    inverse = 1.0 / big
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return np.where(x >= _DIRECT, series, _SMALL_REST[np.minimum(x, _DIRECT).astype(np.int64)])


def _small_table() -> Floats:
    x = np.arange(1.0, _DIRECT + 1)
    rest = gammaln(x + 1) - ((x + 0.5) * np.log(x) - x + _HALF_LOG_2PI)
    return np.concatenate([[np.nan], rest])


_SMALL_REST: NDArray[np.float64] = _small_table()


def log_choose(n: Ints, c: Ints) -> Floats:
    """Return log C(n, c) for 0 <= c <= n, broadcast, without cancellation."""
    n, c = np.broadcast_arrays(n, c)
    out = np.zeros(n.shape)
    inner = (c > 0) & (c < n)
    whole, part = n[inner].astype(np.float64), c[inner].astype(np.float64)
    rest = whole - part
    bend = _stirling_rest(whole) - _stirling_rest(part) - _stirling_rest(rest)
    spread = 0.5 * np.log(whole / part / rest) - _HALF_LOG_2PI
    out[inner] = -part * np.log(part / whole) - rest * np.log(rest / whole) + spread + bend
    return out
