"""Mixing distributions of p over prompts: a labelled model for what lies beyond the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import betaincinv, betaln, expit, gammaln, xlog1py, xlogy

from rewardable.errors import ConfigError
from rewardable.metrics.checks import Floats, Ints, budgets, counts, level_alpha, whole
from rewardable.metrics.intervals import Band
from rewardable.metrics.passk import Budgets, unique_pairs

Model = Literal["npmle", "beta"]

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
) -> Band:
    """Extrapolate mean pass@k to budgets beyond n under a mixture model.

    Parameters
    ----------
    n_P, c_P: counts per prompt, shape [P].
    k: budgets of any size, K of them.
    model: as in :func:`fit_mixture`.
    level: of the interval at each budget.
    seed, draws: of the bootstrap over prompts, each draw refitted.

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
    noise, refitted in each draw; it does not cover the model being wrong.

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
    fit = fit_mixture(n, c, model)
    curves = _refits(n, c, k_K, fit, seed, draws)
    mean = fit.curve(k_K)
    ends = np.quantile(curves, [alpha / 2, 1 - alpha / 2], axis=0)
    low, high = np.minimum(ends[0], mean), np.maximum(ends[1], mean)
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
        method=f"MODEL ({model} mixture), pointwise bootstrap over prompts, {draws} refits",
        warnings=(f"a model, not a measurement: {beyond} budgets lie beyond the smallest n",),
    )


def _refits(n: Ints, c: Ints, k_K: Ints, fit: Mixture, seed: int, draws: int) -> Floats:
    pairs, inverse = unique_pairs(n, c)
    share = np.bincount(inverse, minlength=len(pairs)) / n.size
    rng = np.random.default_rng(seed)
    weight_BU = rng.multinomial(n.size, share, size=draws).astype(np.float64)
    if fit.model == "beta":
        return np.stack([_fit_beta(pairs, weight).curve(k_K) for weight in weight_BU])
    flat = np.full(fit.weight_G.size, 1.0 / fit.weight_G.size)
    start = np.tile(0.9 * fit.weight_G + 0.1 * flat, (draws, 1))
    weight_BG, _ = _em(_likelihood(pairs), weight_BU, start, _REFIT_ROUNDS)
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


def _em(like_UG: Floats, weight_BU: Floats, start_BG: Floats, rounds: int) -> tuple[Floats, bool]:
    """Run EM for B weightings at once; stop when no log-likelihood rises by 1e-8 a row."""
    total = weight_BU.sum(1, keepdims=True)
    mass, before = start_BG, np.full(len(start_BG), -np.inf)
    for _ in range(rounds):
        fitted = np.maximum(mass @ like_UG.T, 1e-300)
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
