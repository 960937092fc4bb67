"""Mixing distributions of p over prompts: a labelled model for what lies beyond the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import betaincinv, betaln, expit, gammaln, xlog1py, xlogy

from rewardable.errors import ConfigError, DataError
from rewardable.metrics.bounds import binomial_interval
from rewardable.metrics.checks import Floats, Ints, budgets, counts, level_alpha, whole
from rewardable.metrics.intervals import Band
from rewardable.metrics.passk import Budgets, unique_pairs
from rewardable.metrics.units import LEAST_INFORMATIVE

Model = Literal["npmle", "beta"]
Real = NDArray[np.floating[Any]]

_GRID = np.concatenate([[0.0], expit(np.linspace(-12, 9, 120)), [1.0]])
_TOLERANCE = 1e-8
_ROUNDS = 3000
_REFIT_ROUNDS = 150


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixture:
    """A fitted distribution of success probabilities over prompts: a model, not a measurement.

    p_G, weight_G: its support and weights (for "beta" a fine discretisation).
    model: "npmle" or "beta". log_likelihood: of the counts. converged: whether the fit did.
    """

    p_G: NDArray[np.float64]
    weight_G: NDArray[np.float64]
    model: str
    log_likelihood: float
    converged: bool

    def curve(self, k: Budgets) -> Floats:
        """Return the model's mean pass@k at budgets of any size, shape [K]."""
        k_K, _ = budgets(k)
        missed = np.exp(xlog1py(k_K[:, None].astype(np.float64), -self.p_G[None, :]))
        return 1.0 - missed @ self.weight_G

    def mass(self, low: float, high: float) -> float:
        """Return the model's share of prompts with low <= p <= high."""
        return float(self.weight_G[(self.p_G >= low) & (self.p_G <= high)].sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Refits:
    """An NPMLE and its refits to bootstrap draws of ``units``, weights on ``fit.p_G``."""

    fit: Mixture
    weight_BG: NDArray[np.float64]
    units: int


def refit_mixture(
    n_P: ArrayLike,
    c_P: ArrayLike,
    *,
    seed: int = 0,
    draws: int = 200,
    clusters: ArrayLike | None = None,
) -> Refits:
    """Fit the NPMLE and refit it to bootstrap draws, for several figures to share.

    Parameters
    ----------
    n_P, c_P: counts per prompt, shape [P].
    seed, draws: of the bootstrap over prompts.
    clusters: a label per prompt, as in :func:`mean_interval`; clusters are drawn as a whole.

    Returns
    -------
    Refits, for :func:`extrapolate` and :func:`end_masses`.

    Raises
    ------
    DataError: unusable counts. ConfigError: fewer than 2 draws.

    What it measures
    ----------------
    Nothing of its own: how far the fitted model moves with other prompts.

    Estimand and assumptions
    ------------------------
    As :func:`fit_mixture`; the prompts (or clusters) are a sample of their population.

    When it misleads
    ----------------
    Where few prompts are informative a bootstrap does not cover.

    Example
    -------
    >>> refit_mixture([16] * 30, [0, 1, 2] * 10, draws=5).weight_BG.shape[0]
    5

    Source
    ------
    Efron 1979 (bootstrap); Laird 1978 (NPMLE).
    """
    n, c = counts(n_P, c_P)
    whole(draws, "draws", 2)
    fit = fit_mixture(n, c)
    flat = np.full(fit.weight_G.size, 1.0 / fit.weight_G.size)
    start = np.tile(0.9 * fit.weight_G + 0.1 * flat, (draws, 1)).astype(np.float32)
    drawn = _resampled(n, c, seed, draws, clusters).astype(np.float32)
    like = _likelihood(unique_pairs(n, c)[0]).astype(np.float32)
    weight_BG = _em(like, drawn, start, _REFIT_ROUNDS)[0].astype(np.float64)
    weight_BG /= weight_BG.sum(axis=1, keepdims=True)
    return Refits(fit=fit, weight_BG=weight_BG, units=_units(n, clusters))


def fit_mixture(n_P: ArrayLike, c_P: ArrayLike, model: Model = "npmle") -> Mixture:
    """Fit the distribution of p over prompts to counts.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    model: "npmle", the nonparametric maximum-likelihood mixing distribution on a grid that
        includes 0 and 1; or "beta", one beta distribution.

    Returns
    -------
    Mixture.

    Raises
    ------
    DataError: unusable counts. ConfigError: an unknown model.

    What it measures
    ----------------
    Nothing: it is a working model of how hard the prompts are, for extrapolation and smoothing.

    Estimand and assumptions
    ------------------------
    Counts are binomial given p, p is drawn independently per prompt.

    When it misleads
    ----------------
    The share of prompts at exactly 0 is not identified: at n = 64 a p of 0.0001 looks the same.
    The beta model ties both ends together, so a good fit in the middle decides the tail.

    Example
    -------
    >>> fit = fit_mixture([16] * 40, [0, 16] * 20)
    >>> round(fit.mass(0.9, 1.0), 2)
    0.5

    Source
    ------
    Laird 1978 (NPMLE by EM); beta-binomial maximum likelihood.
    """
    n, c = counts(n_P, c_P)
    pairs, inverse = unique_pairs(n, c)
    weight = np.bincount(inverse, minlength=len(pairs)).astype(np.float64)
    if model == "beta":
        return _fit_beta(pairs, weight)
    if model != "npmle":
        raise ConfigError(f"model must be 'npmle' or 'beta', got {model!r}.")
    like = _likelihood(pairs)
    start = np.full((1, _GRID.size), 1.0 / _GRID.size)
    fitted, converged = _em(like, weight[None, :], start, _ROUNDS)
    value = float(weight @ (np.log(like @ fitted[0]) + _log_binomial(pairs)))
    return Mixture(
        p_G=_GRID, weight_G=fitted[0], model=model, log_likelihood=value, converged=converged
    )


def extrapolate(
    n_P: ArrayLike,
    c_P: ArrayLike,
    k: Budgets,
    *,
    model: Model = "npmle",
    level: float = 0.95,
    seed: int = 0,
    draws: int = 200,
    clusters: ArrayLike | None = None,
    refits: Refits | None = None,
) -> Band:
    """Extrapolate mean pass@k to budgets beyond n under a mixture model.

    Parameters
    ----------
    n_P, c_P: counts per prompt, shape [P].
    k: budgets of any size, K of them.
    model: as in :func:`fit_mixture`.
    level: of the interval at each budget.
    seed, draws: of the bootstrap over prompts, each draw refitted.
    clusters: a label per prompt, as in :func:`mean_interval`; clusters are drawn as a whole.
    refits: what :func:`refit_mixture` gave for these counts; then ``model``, ``seed``, ``draws``
        and ``clusters`` are its own.

    Returns
    -------
    Band whose ends are *pointwise* (both pairs of ends are the same) and whose method begins with
    "MODEL"; ``warnings`` say that it is one.

    Raises
    ------
    DataError: unusable counts. ConfigError: an unknown model.

    What it measures
    ----------------
    What pass@k would be at budgets nobody sampled, if the model were right.

    Estimand and assumptions
    ------------------------
    The mixture's 1 - E[(1-p)^k]. The interval covers which prompts were drawn and their sampling
    noise, refitted in each draw; where fewer than 20 prompts carry the share it is widened to a
    binomial one. It does not cover the model being wrong.

    When it misleads
    ----------------
    Far beyond n it reports the model's opinion about p < 1/n, on which the data are silent. The
    two models differing is a better guide to the doubt than either interval.

    Example
    -------
    >>> band = extrapolate([16] * 30, [0, 1, 2] * 10, [64], draws=20)
    >>> band.method.startswith("MODEL"), bool(band.low_K[0] <= band.mean_K[0] <= band.high_K[0])
    (True, True)

    Source
    ------
    Mixture extrapolation as in passk-inference's kernel curve; percentile bootstrap.
    """
    alpha = level_alpha(level)
    whole(draws, "draws", 2)
    n, c = counts(n_P, c_P)
    k_K, _ = budgets(k)
    if refits is not None:
        fit, curves, units = refits.fit, _npmle_curves(refits.weight_BG, k_K), refits.units
    elif model == "npmle":
        found = refit_mixture(n, c, seed=seed, draws=draws, clusters=clusters)
        fit, curves, units = found.fit, _npmle_curves(found.weight_BG, k_K), found.units
    else:
        fit = fit_mixture(n, c, model)
        curves = _beta_curves(n, c, k_K, _resampled(n, c, seed, draws, clusters))
        units = _units(n, clusters)
    mean = fit.curve(k_K)
    ends = [bootstrap_ends(drawn, float(one), units, alpha)
            for drawn, one in zip(curves.T, mean, strict=True)]  # fmt: skip
    low, high = np.array(ends).T
    beyond = int((k_K > n.min()).sum())
    return Band(
        mean_K=mean,
        low_K=low,
        high_K=high,
        pointwise_low_K=low,
        pointwise_high_K=high,
        conservative_K=np.zeros(k_K.size, dtype=bool),
        level=level,
        critical=float("nan"),
        method=(
            f"MODEL ({fit.model} mixture), pointwise bootstrap over prompts, {len(curves)} refits"
        ),
        warnings=(f"a model, not a measurement: {beyond} budgets lie beyond the smallest n",),
    )


def bootstrap_ends(drawn: Floats, value: float, size: int, alpha: float) -> tuple[float, float]:
    """Return percentile ends of a share of prompts that hold ``value``.

    Where fewer than 20 prompts carry the share, or its rest, no bootstrap covers: the ends then
    reach at least as far as those of a binomial share of that many prompts.
    """
    low, high = (float(end) for end in np.quantile(drawn, [alpha / 2, 1 - alpha / 2]))
    share = min(max(value, 0.0), 1.0)
    if min(share, 1 - share) * size < LEAST_INFORMATIVE:
        held = [np.floor(share * size), np.ceil(share * size)]
        exact = binomial_interval(size, held, 1 - alpha)
        low, high = min(low, float(exact[0][0])), max(high, float(exact[1][1]))
    return min(low, value), max(high, value)


def _units(n: Ints, clusters: ArrayLike | None) -> int:
    return n.size if clusters is None else len(np.unique(np.asarray(clusters)))


def _resampled(n: Ints, c: Ints, seed: int, draws: int, clusters: ArrayLike | None) -> Floats:
    """Return how often each distinct count occurs in every bootstrap draw, [draws, U]."""
    pairs, inverse = unique_pairs(n, c)
    rng = np.random.default_rng(seed)
    if clusters is None:
        share = np.bincount(inverse, minlength=len(pairs)) / n.size
        return rng.multinomial(n.size, share, size=draws).astype(np.float64)
    label = np.asarray(clusters)
    if label.shape != n.shape:
        raise DataError(f"clusters must have {n.size} rows, got {label.shape}.")
    found, code = np.unique(label, return_inverse=True)
    held = np.zeros((found.size, len(pairs)))
    np.add.at(held, (code.reshape(-1), inverse), 1.0)
    times = rng.multinomial(found.size, np.full(found.size, 1 / found.size), size=draws)
    return times @ held


def _beta_curves(n: Ints, c: Ints, k_K: Ints, weight_BU: Floats) -> Floats:
    pairs = unique_pairs(n, c)[0]
    return np.stack([_fit_beta(pairs, weight).curve(k_K) for weight in weight_BU])


def _npmle_curves(weight_BG: Floats, k_K: Ints) -> Floats:
    missed = np.exp(xlog1py(k_K[:, None].astype(np.float64), -_GRID[None, :]))
    return 1.0 - weight_BG @ missed.T


def _likelihood(pairs: Ints) -> Floats:
    """Return p^c (1-p)^(n-c) of every distinct count on the grid, each row scaled to 1 at most."""
    n, c = pairs[:, :1].astype(np.float64), pairs[:, 1:].astype(np.float64)
    log_like = xlogy(c, _GRID) + xlog1py(n - c, -_GRID)
    return np.exp(log_like - _peak(pairs)[:, None])


def _peak(pairs: Ints) -> Floats:
    n, c = pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)
    share = c / np.maximum(n, 1)
    return xlogy(c, share) + xlog1py(n - c, -share)


def _log_binomial(pairs: Ints) -> Floats:
    n, c = pairs[:, 0], pairs[:, 1]
    return gammaln(n + 1.0) - gammaln(c + 1.0) - gammaln(n - c + 1.0) + _peak(pairs)


def _em(like_UG: Real, weight_BU: Real, start_BG: Real, rounds: int) -> tuple[Real, bool]:
    """Run EM for B weightings at once; stop when no log-likelihood rises by 1e-8 a row."""
    total = weight_BU.sum(1, keepdims=True)
    mass, before = start_BG, np.full(len(start_BG), -np.inf)
    for _ in range(rounds):
        fitted = np.maximum(mass @ like_UG.T, 1e-30)
        value = (weight_BU * np.log(fitted)).sum(1)
        if (value - before <= _TOLERANCE * total[:, 0]).all():
            return mass, True
        before = value
        mass = mass * ((weight_BU / fitted) @ like_UG) / total
    return mass, False


def _fit_beta(pairs: Ints, weight_U: Floats) -> Mixture:
    n, c = pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)

    def loss(x: Floats) -> float:
        a, b = np.exp(np.clip(x, -9, 9))
        return -float(weight_U @ (betaln(c + a, n - c + b) - betaln(a, b)))

    found = minimize(
        loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-7}
    )
    a, b = np.exp(np.clip(found.x, -9, 9))
    nodes, weights = _beta_nodes(float(a), float(b))
    constant = float(weight_U @ (_log_binomial(pairs) - _peak(pairs)))
    return Mixture(
        p_G=nodes,
        weight_G=weights,
        model="beta",
        log_likelihood=constant - float(found.fun),
        converged=bool(found.success),
    )


def _beta_nodes(a: float, b: float) -> tuple[Floats, Floats]:
    """Discretise a beta distribution at the middles of 4000 equal probabilities."""
    level = (np.arange(4000) + 0.5) / 4000
    return betaincinv(a, b, level), np.full(4000, 1 / 4000)
