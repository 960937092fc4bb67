"""Cells of polarisation, of ratios (retention, the gate) and of trainability."""

from __future__ import annotations

import numpy as np
from scenarios import reach

from rewardable.metrics import (
    mean_interval,
    paired_interval,
    pass_at_k,
    polarisation,
    polarisation_change,
    ratio_interval,
    support_dynamics,
    trainability,
)
from rewardable.metrics.ratios import scaled_difference

GROUP = 8
FULL = 40


def polarised_truth(scenario):
    both = (scenario.before_A, scenario.after_A)
    return {"polar": [1 - (x * (1 - x)).mean() / (x.mean() * (1 - x.mean())) for x in both]}


def polarised(scenario, truth, rng, tally):
    n, c, d, _, _ = scenario.draw(rng)
    found = polarisation(n, d)
    tally.add("polarisation", found.low, found.high, truth["polar"][1])
    change = polarisation_change(n, c, n, d)
    tally.add("polarisation change", change.low, change.high, np.diff(truth["polar"])[0])


def rates_truth(scenario):
    k = int(scenario.ks[-1])
    return {k: _rates_at(scenario, k)}


def half_rates_truth(scenario):
    k = int(scenario.ks[-1]) // 2
    return {k: _rates_at(scenario, k)}


def _rates_at(scenario, k):
    u, v = reach(scenario.before_A, k), reach(scenario.after_A, k)
    both, new, lost = (u * v).mean(), ((1 - u) * v).mean(), (u * (1 - v)).mean()
    kept, found = both / u.mean(), new / v.mean()
    return {
        "retention SRR": kept,
        "discovery NDR": found,
        "score SDS": 2 * kept * found / (kept + found),
        "net change NSCR": (new - lost) / (both + new + lost),
        "relative support": v.mean() / u.mean(),
    }


def rates(scenario, truth, rng, tally):
    """A ratio is in Fieller's interval when its scaled difference holds 0: no search is needed.

    In every 40th replicate the intervals themselves are built and must agree with that.
    """
    n, c, d, _, _ = scenario.draw(rng)
    for k, known in truth.items():
        u, v = pass_at_k(n, c, k), pass_at_k(n, d, k)
        held = _held(u, v, known)
        for name, hit in held.items():
            tally.count(f"{name} at {k}", hit)
        if rng.random() < 1 / FULL:
            _agree(n, c, d, k, known, held, tally)


def _held(u, v, known):
    both, new, lost = u * v, (1 - u) * v, u * (1 - v)
    parts = {
        "retention SRR": (both, u, (0.0, 1.0)),
        "discovery NDR": (new, v, (0.0, 1.0)),
        "net change NSCR": (new - lost, both + new + lost, (-1.0, 1.0)),
        "relative support": (v, u, (0.0, 1.0)),
    }

    def holds(name, level):
        over, under, bounds = parts[name]
        told = {"level": level, "clusters": None, "bounds": bounds}
        found = scaled_difference(over, under, known[name], **told)
        return bool(found.low <= 1e-12 and found.high >= -1e-12)

    held = {name: holds(name, 0.95) for name in parts}
    # SDS rises in both rates: its ends hold whenever both wider intervals do.
    held["score SDS"] = holds("retention SRR", 0.975) and holds("discovery NDR", 0.975)
    return held


def _agree(n, c, d, k, known, held, tally):
    found = support_dynamics(n, c, n, d, k=k)
    gate = ratio_interval(pass_at_k(n, d, k), pass_at_k(n, c, k))
    built = {
        "retention SRR": found.retention,
        "discovery NDR": found.discovery,
        "score SDS": found.score,
        "net change NSCR": found.net_change,
        "relative support": gate,
    }
    for name, one in built.items():
        if np.isnan(one.low) or np.isnan(one.high):
            continue
        inside = one.low - 1e-5 <= known[name] <= one.high + 1e-5
        tally.count(
            f"{name}: the built interval holds what its test keeps", inside or not held[name]
        )


def trainable_truth(scenario):
    both = (scenario.before_A, scenario.after_A)
    return {"share": [1 - (x**GROUP + (1 - x) ** GROUP).mean() for x in both]}


def trainable(scenario, truth, rng, tally):
    n, c, d, _, _ = scenario.draw(rng)
    u, v = trainability(n, c, GROUP), trainability(n, d, GROUP)
    found = mean_interval(u)
    tally.add("trainability", found.low, found.high, truth["share"][0])
    change = paired_interval(u, v)
    tally.add("trainability change", change.low, change.high, np.diff(truth["share"])[0])
