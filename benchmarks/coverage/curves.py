"""Cells of curves, of clusters, of calls and of intervals for the prompts at hand."""

from __future__ import annotations

import numpy as np
from scenarios import reach

from rewardable.metrics import (
    binomial_interval,
    crossing,
    curve_band,
    fixed_prompts_interval,
    mean_interval,
    paired_band,
    paired_interval,
    pass_at_k,
    polarisation,
    ratio_interval,
    transitions,
)

DRAWS = 1000


def curves_truth(scenario):
    p, q, ks = scenario.before_A, scenario.after_A, scenario.ks
    before = np.array([reach(p, k).mean() for k in ks])
    change = np.array([reach(q, k).mean() for k in ks]) - before
    losses = ks[change < -1e-12]
    return {"before": before, "change": change, "first": losses[0] if losses.size else None}


def curves(scenario, truth, rng, tally):
    n, c, d, _, _ = scenario.draw(rng)
    ks = scenario.ks
    a, b = pass_at_k(n, c, ks), pass_at_k(n, d, ks)
    for k in (1, 8, ks[-1]):
        one = mean_interval(a[:, k - 1])
        tally.add(f"pass@{k}", one.low, one.high, truth["before"][k - 1])
        two = paired_interval(a[:, k - 1], b[:, k - 1])
        tally.add(f"pass@{k} change", two.low, two.high, truth["change"][k - 1])
    seed = int(rng.integers(1 << 30))
    _band("curve", curve_band(a, draws=DRAWS, seed=seed), truth["before"], tally)
    band = paired_band(a, b, draws=DRAWS, seed=seed)
    _band("change", band, truth["change"], tally)
    found = crossing(band, ks)
    first = truth["first"]
    held = found.first_certified_loss is None if first is None else first in found.first_loss_set
    tally.count("first budget with a loss is in its set", held, len(found.first_loss_set))


def _band(name, band, truth, tally):
    tally.add(f"{name} band, simultaneous", band.low_K, band.high_K, truth)
    middle = truth.size // 2
    low, high = band.pointwise_low_K[middle], band.pointwise_high_K[middle]
    tally.add(f"{name} band, pointwise", low, high, truth[middle])


def clusters_truth(scenario):
    p, k = scenario.before_A, int(scenario.ks[-1])
    known = curves_truth(scenario)
    polar = 1 - (p * (1 - p)).mean() / (p.mean() * (1 - p.mean()))
    return known | {"polar": polar, "ratio": reach(scenario.after_A, k).mean() / reach(p, k).mean()}


def clusters(scenario, truth, rng, tally):
    (n, c, d, _, _), label = scenario.draw_clusters(rng)
    ks = scenario.ks[::4]
    a, b = pass_at_k(n, c, ks), pass_at_k(n, d, ks)
    told = {"clusters": label}
    one = mean_interval(a[:, 0], **told)
    tally.add("clusters: pass@1", one.low, one.high, truth["before"][0])
    band = paired_band(a, b, draws=DRAWS, seed=int(rng.integers(1 << 30)), **told)
    name = "clusters: change band, simultaneous"
    tally.add(name, band.low_K, band.high_K, truth["change"][ks - 1])
    found = polarisation(n, c, **told)
    tally.add("clusters: polarisation", found.low, found.high, truth["polar"])
    if rng.random() < 0.1:
        last = scenario.ks[-1]
        found = ratio_interval(pass_at_k(n, d, last), pass_at_k(n, c, last), **told)
        tally.add("clusters: relative support (a tenth)", found.low, found.high, truth["ratio"])


def calls(scenario, truth, rng, tally):
    """Two draws of the policy before: whatever is called is false."""
    n, c, _, p, q = scenario.draw(rng)
    found = transitions(n, c, n, rng.binomial(n, p))
    changed = sum(found.count(name) for name in ("lost", "reduced", "gained", "raised"))
    tally.count("no false change among all prompts", changed == 0)
    tally.count("no false loss among all prompts", found.count("lost") == 0)
    tally.each("each prompt's change, nothing changed", found.low_P, found.high_P, 0.0 * p)
    m = rng.binomial(n, q)
    found = transitions(n, c, n, m)
    tally.each("each prompt's change", found.low_P, found.high_P, q - p)
    low, high = binomial_interval(n, c)
    tally.each("each prompt's p", low, high, p)
    called = np.isin(found.calls, ("lost", "reduced", "gained", "raised"))
    up = np.isin(found.calls, ("gained", "raised"))
    wrong = called & np.where(up, q <= p, q >= p)
    tally.count("no false change among the calls (share)", 1 - wrong.sum() / max(called.sum(), 1))


def fixed(scenario, truth, rng, tally):
    n, c, _, p, _ = scenario.draw(rng)
    for k in (1, 8, int(scenario.ks[-1]) // 2, int(scenario.ks[-1])):
        found = fixed_prompts_interval(n, c, k)
        tally.add(f"these prompts: pass@{k}", found.low, found.high, reach(p, k).mean())
