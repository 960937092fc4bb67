"""How many prompts lie near 0 and near 1: a labelled model, with what n cannot identify."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from rewardable.metrics.bounds import zero_bound
from rewardable.metrics.checks import Bools, counts, level_alpha, probability
from rewardable.metrics.intervals import Interval
from rewardable.metrics.mixture import Refits, bootstrap_ends, refit_mixture


@dataclass(frozen=True, kw_only=True)
class EndMasses:
    """Model shares of prompts with p <= edge, and with p >= 1 - edge, each with its interval."""

    near_zero: Interval
    near_one: Interval
    edge: float


def end_masses(
    n_P: ArrayLike,
    c_P: ArrayLike,
    *,
    edge: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 200,
    clusters: ArrayLike | None = None,
    refits: Refits | None = None,
) -> EndMasses:
    """Estimate the shares of prompts that are all but never, and all but always, solved.

    Parameters
    ----------
    n_P: graded rollouts per prompt, shape [P]; a scalar stands for all prompts.
    c_P: successes per prompt, shape [P].
    edge: what "near" means; 0 takes the rate that 0 of n still allows (:func:`zero_bound`), n the
        smallest.
    level: of the intervals. seed, draws: of the bootstrap over prompts, each draw refitted.
    clusters: a label per prompt, as in :func:`mean_interval`.
    refits: what :func:`refit_mixture` gave for these counts; then ``seed``, ``draws`` and
        ``clusters`` are its own.

    Returns
    -------
    EndMasses, whose methods begin with "MODEL" and whose warnings say what n cannot identify.

    Raises
    ------
    DataError: unusable counts. ConfigError: an edge outside [0, 1].

    What it measures
    ----------------
    How polarised the prompts are once the noise of n rollouts is taken out, if the model holds.

    Estimand and assumptions
    ------------------------
    P(p <= edge) and P(p >= 1 - edge) under the nonparametric mixing distribution that fits the
    counts best; counts binomial given p. The interval covers prompts and samples, not the model.

    When it misleads
    ----------------
    The mass at exactly 0 (or 1) is not identified: at n = 64 a p of 0.0001 looks the same. An
    edge below about 3/n asks for more than n rollouts can tell.

    Example
    -------
    >>> found = end_masses([16] * 40, [0, 8] * 20, draws=20)
    >>> round(found.near_zero.mean, 2), found.near_zero.method[:5], round(found.edge, 2)
    (0.5, 'MODEL', 0.21)

    Source
    ------
    Laird 1978 (NPMLE); percentile bootstrap.
    """
    alpha = level_alpha(level)
    n, c = counts(n_P, c_P)
    at = probability(edge, "edge") or zero_bound(int(max(n.min(), 1)), level)
    found = refits or refit_mixture(n, c, seed=seed, draws=draws, clusters=clusters)
    fit, weight_BG = found.fit, found.weight_BG
    least = int(n.min())

    def share(near_G: Bools, end: int) -> Interval:
        value, drawn = float(fit.weight_G[near_G].sum()), weight_BG[:, near_G].sum(axis=1)
        low, high = bootstrap_ends(drawn, value, found.units, alpha)
        why = (
            f"a model, not a measurement; {least} rollouts cannot tell p = {end} from p within "
            f"{zero_bound(max(least, 1), level):.2g} of it: the mass at exactly {end} is not "
            "identified"
        )
        return Interval(
            mean=value, low=low, high=high, level=level, warnings=(why,),
            method=f"MODEL (npmle mixture), bootstrap over prompts, {len(weight_BG)} refits",
        )  # fmt: skip

    near_zero, near_one = share(fit.p_G <= at, 0), share(fit.p_G >= 1 - at, 1)
    return EndMasses(near_zero=near_zero, near_one=near_one, edge=at)
