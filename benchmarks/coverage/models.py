"""Cells of what is labelled a model: extrapolated curves and masses at the ends."""

from __future__ import annotations

from scenarios import reach

from rewardable.metrics import end_masses, extrapolate, refit_mixture
from rewardable.metrics.bounds import zero_bound

DRAWS = 100


def models_truth(scenario):
    p, k = scenario.before_A, int(scenario.ks[-1])
    edge = zero_bound(k)
    return {
        "beyond": {times * k: reach(p, times * k).mean() for times in (2, 4)},
        "never": (p <= edge).mean(),
        "always": (p >= 1 - edge).mean(),
    }


def models(scenario, truth, rng, tally):
    n, c, _, _, _ = scenario.draw(rng)
    beyond, seed = truth["beyond"], int(rng.integers(1 << 30))
    shared = refit_mixture(n, c, draws=DRAWS, seed=seed)
    band = extrapolate(n, c, list(beyond), refits=shared)
    for column, (k, value) in enumerate(beyond.items()):
        name = f"MODEL extrapolated pass@{k // int(scenario.ks[-1])}n"
        tally.add(name, band.low_K[column], band.high_K[column], value)
    found = end_masses(n, c, refits=shared)
    tally.add("MODEL mass near 0", found.near_zero.low, found.near_zero.high, truth["never"])
    tally.add("MODEL mass near 1", found.near_one.low, found.near_one.high, truth["always"])
