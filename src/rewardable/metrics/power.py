"""What a number of rollouts can certify: power, smallest certified loss, needed n."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, gammaln, xlog1py, xlogy
from scipy.stats import hypergeom

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, probability, whole
from rewardable.metrics.subsets import log_miss

TYPICAL_THRESHOLD = 0.01
"""The p-value that a prompt must meet once false discoveries are controlled at 5 % and about a
fifth of the prompts that can change at all did change."""

_LARGEST_N = 1 << 24
_NEGLIGIBLE = -46.0


def detection_power(
    n: int,
    p_before: float,
    p_after: float = 0.0,
    *,
    alpha: float = TYPICAL_THRESHOLD,
    n_after: int | None = None,
) -> float:
    """Return the probability that a fall from ``p_before`` to ``p_after`` is certified.

    Parameters
    ----------
    n: rollouts of the prompt under the first policy (and the second unless ``n_after``).
    p_before, p_after: success probabilities.
    alpha: two-sided p-value that must be met; the default is typical under false-discovery control.
    n_after: rollouts under the second policy.

    Returns
    -------
    The probability that Fisher's exact test gives p <= alpha in the direction of a fall.

    Raises
    ------
    ConfigError: n below 1, a probability outside [0, 1].

    What it measures
    ----------------
    How likely a real loss on one prompt is to be seen as one.

    Estimand and assumptions
    ------------------------
    Exact sum over both binomials; rollouts independent, n fixed. Covers "lost" and "reduced".

    When it misleads
    ----------------
    The threshold that false-discovery control ends up with depends on the data: few changed
    prompts among many mean a smaller one and less power. :func:`transitions` reports its own.

    Example
    -------
    >>> round(detection_power(64, 0.1), 2)
    0.31
    >>> round(detection_power(128, 0.1), 2)
    0.95

    Source
    ------
    Fisher's exact test, enumerated.
    """
    m = whole(n if n_after is None else n_after, "n_after")
    whole(n, "n")
    probability(p_before, "p_before")
    probability(p_after, "p_after")
    probability(alpha, "alpha", low_open=True)
    after, log_after = _window(m, p_after)
    needed = np.array([_least_before(n, m, int(d), alpha) for d in after])
    before, log_before = _window(n, p_before)
    tail = np.cumsum(np.exp(log_before)[::-1])[::-1]
    at = np.searchsorted(before, needed)
    reach = np.where(at < before.size, tail[np.minimum(at, before.size - 1)], 0.0)
    reach = np.where(needed > n, 0.0, reach)
    return float(min(1.0, (np.exp(log_after) * reach).sum()))


def smallest_certified_loss(
    n: int, *, power: float = 0.8, alpha: float = TYPICAL_THRESHOLD, n_after: int | None = None
) -> float:
    """Return the smallest p whose fall to 0 is certified with probability ``power``.

    Parameters
    ----------
    n: rollouts under the first policy (and the second unless ``n_after``).
    power: wanted probability, in (0, 1).
    alpha: two-sided p-value that must be met.
    n_after: rollouts under the second policy.

    Returns
    -------
    A probability; NaN where even n successes of n followed by none do not reach alpha.

    Raises
    ------
    ConfigError: n below 1, a power or alpha outside its range.

    What it measures
    ----------------
    The resolution of an audit: losses of rarer successes go unnoticed.

    Estimand and assumptions
    ------------------------
    Exact: with none after, Fisher's test needs a fixed number of successes before.

    When it misleads
    ----------------
    As :func:`detection_power`: the threshold depends on how many prompts changed.

    Example
    -------
    >>> round(smallest_certified_loss(64), 3)
    0.156

    Source
    ------
    Fisher's exact test; binomial tail by the incomplete beta function.
    """
    whole(n, "n")
    probability(power, "power", low_open=True)
    m = n if n_after is None else whole(n_after, "n_after")
    needed = _least_before(n, m, 0, probability(alpha, "alpha", low_open=True))
    return float(betaincinv(needed, n - needed + 1, power)) if needed <= n else float("nan")


def needed_n(p_before: float, power: float = 0.8, *, alpha: float = TYPICAL_THRESHOLD) -> int:
    """Return the rollouts per policy that certify a fall from ``p_before`` to 0.

    Parameters
    ----------
    p_before: success probability before, in (0, 1].
    power: wanted probability of certifying it.
    alpha: two-sided p-value that must be met.

    Returns
    -------
    The smallest n that reaches the power, the same for both policies.

    Raises
    ------
    ConfigError: a probability out of range, or one so small that n would exceed 16 million.

    What it measures
    ----------------
    The price of certainty about one prompt, in rollouts.

    Estimand and assumptions
    ------------------------
    As :func:`smallest_certified_loss`, solved for n.

    When it misleads
    ----------------
    Power is not monotone in n by a hair (counts are whole): a slightly larger n may have
    slightly less.

    Example
    -------
    >>> needed_n(0.1)
    101

    Source
    ------
    Fisher's exact test; search by doubling and bisection.
    """
    probability(p_before, "p_before", low_open=True)
    high = 2
    while not _enough(high, p_before, power, alpha):
        high *= 2
        if high > _LARGEST_N:
            raise ConfigError(
                f"p_before = {p_before!r} would need more than {_LARGEST_N} rollouts."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(middle, p_before, power, alpha) else (middle, high)
    return high


def _enough(n: int, p_before: float, power: float, alpha: float) -> bool:
    least = smallest_certified_loss(n, power=power, alpha=alpha)
    return bool(least <= p_before)


def _least_before(n: int, m: int, after: int, alpha: float) -> int:
    """Return the fewest successes before that certify a fall to ``after``; n + 1 if none does."""
    low, high = after * n // m, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        good = 2 * _upper_tail(n, m, middle, after) <= alpha * (1 + 1e-9)
        low, high = (low, middle) if good else (middle, high)
    return high


def _upper_tail(n: int, m: int, before: int, after: int) -> float:
    if after == 0:
        total: Ints = np.array([n + m])
        return float(np.exp(log_miss(total, np.array([m]), np.array([before])))[0])
    return float(hypergeom.sf(before - 1, n + m, before + after, n))


def _window(n: int, p: float) -> tuple[Ints, Floats]:
    """Return the counts that are not negligible under Binomial(n, p) and their log masses."""
    spread = 10 * np.sqrt(n * p * (1 - p)) + 40
    x = np.arange(max(0, int(n * p - spread)), min(n, int(n * p + spread)) + 1)
    log_pmf = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + xlogy(x, p)
    log_pmf = log_pmf + xlog1py(n - x, -p)
    kept = log_pmf > _NEGLIGIBLE
    return x[kept], log_pmf[kept]
