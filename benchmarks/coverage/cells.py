"""What is checked in every replicate: a metric's interval against the known truth."""

from __future__ import annotations

import numpy as np

from rewardable.metrics import (
    StoppingRule,
    count_labels,
    curve_band,
    distinct_at_k,
    fixed_prompts_interval,
    mean_interval,
    paired_band,
    paired_interval,
    pass_at_k,
    polarisation,
    polarisation_change,
    trainability,
    transitions,
)
from rewardable.metrics.ratios import scaled_difference

GROUP = 8
RULE = StoppingRule(successes=4, cap=64, first=8, step=8)
DRAWS = 1000


def reach(p, k):
    return -np.expm1(k * np.log1p(-np.minimum(p, 1 - 1e-15)))


class Tally:
    """Hits and tries of every cell of one scenario, with mean widths."""

    def __init__(self):
        self.hits, self.tries, self.width, self.none = {}, {}, {}, {}

    def add(self, cell, low, high, truth):
        low, high, truth = (np.atleast_1d(x).astype(float) for x in (low, high, truth))
        if np.isnan(low).any() or np.isnan(high).any():
            self.none[cell] = self.none.get(cell, 0) + 1
            return
        hit = bool(((low <= truth + 1e-9) & (truth <= high + 1e-9)).all())
        self.count(cell, hit, float((high - low).mean()))

    def count(self, cell, hit, width=np.nan):
        self.hits[cell] = self.hits.get(cell, 0) + hit
        self.tries[cell] = self.tries.get(cell, 0) + 1
        self.width[cell] = self.width.get(cell, 0.0) + width


def replicate(scenario, truth, rng, tally):
    """Draw one data set and check every cell on it."""
    n, c, d, p = scenario.draw(rng)
    ks = truth["ks"]
    a, b = pass_at_k(n, c, ks), pass_at_k(n, d, ks)
    for k in truth["points"]:
        one = mean_interval(a[:, k - 1])
        tally.add(f"pass@{k}", one.low, one.high, truth["before"][k - 1])
        two = paired_interval(a[:, k - 1], b[:, k - 1])
        tally.add(f"pass@{k} change", two.low, two.high, truth["change"][k - 1])
    _bands(a, b, truth, tally)
    _trainable(n, c, d, truth, tally)
    _polarised(n, c, d, truth, tally)
    _rates(a[:, -1], b[:, -1], truth, tally)
    _distinct(n, c, truth, rng, tally)
    _calls(n, c, d, scenario, tally)
    _fixed(n, c, p, tally)
    _stopped(p, truth, rng, tally)


def _bands(a, b, truth, tally):
    seed = len(tally.tries)
    for name, band, key in (
        ("curve", curve_band(a, draws=DRAWS, seed=seed), "before"),
        ("change", paired_band(a, b, draws=DRAWS, seed=seed), "change"),
    ):
        tally.add(f"{name} band, simultaneous", band.low_K, band.high_K, truth[key])
        middle = truth["ks"].size // 2
        low, high = band.pointwise_low_K[middle], band.pointwise_high_K[middle]
        tally.add(f"{name} band, pointwise", low, high, truth[key][middle])


def _trainable(n, c, d, truth, tally):
    u, v = trainability(n, c, GROUP), trainability(n, d, GROUP)
    found = mean_interval(u)
    tally.add("trainability", found.low, found.high, truth["trainable"][0])
    change = paired_interval(u, v)
    tally.add("trainability change", change.low, change.high, np.diff(truth["trainable"])[0])


def _polarised(n, c, d, truth, tally):
    found = polarisation(n, c)
    tally.add("polarisation", found.low, found.high, truth["polar"][0])
    change = polarisation_change(n, c, n, d)
    tally.add("polarisation change", change.low, change.high, np.diff(truth["polar"])[0])


def _rates(u, v, truth, tally):
    # A ratio is in Fieller's interval when the scaled difference holds 0: no search is needed here.
    both, new, lost = u * v, (1 - u) * v, u * (1 - v)
    for name, over, under, bounds in (
        ("retention SRR", both, u, (0.0, 1.0)),
        ("discovery NDR", new, v, (0.0, 1.0)),
        ("net change NSCR", new - lost, both + new + lost, (-1.0, 1.0)),
        ("relative support", v, u, (0.0, 1.0)),
    ):
        found = scaled_difference(
            over, under, truth[name], level=0.95, clusters=None, bounds=bounds
        )
        tally.add(name, found.low, found.high, 0.0)


def _distinct(n, c, truth, rng, tally):
    # Successes fall on 12 solutions with fixed shares.
    shares = truth["shares"]
    counts = rng.multinomial(c, shares)
    prompt, code = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.reshape(-1), axis=1)
    seen = count_labels(prompt, code, n.size)
    value = distinct_at_k(seen, n, truth["ks"][-1]) / shares.size
    found = mean_interval(value)
    tally.add("coverage", found.low, found.high, truth["coverage"])


def _calls(n, c, d, scenario, tally):
    if scenario.name == "unchanged":
        found = transitions(n, c, n, d)
        changed = sum(found.count(name) for name in ("lost", "reduced", "gained", "raised"))
        tally.count("no false change among all prompts", changed == 0)
        tally.count("no false loss among all prompts", found.count("lost") == 0)


def _fixed(n, c, p, tally):
    found = fixed_prompts_interval(n, c, 8)
    tally.add("fixed prompts pass@8", found.low, found.high, reach(p, 8).mean())


def _stopped(p, truth, rng, tally):
    n, c = np.zeros(p.size, dtype=int), np.zeros(p.size, dtype=int)
    for look in RULE.looks:
        open_ = (n == 0) | (c < RULE.successes)
        c[open_] += rng.binomial((look - n)[open_], p[open_])
        n[open_] = look
    k = int(truth["ks"][-1])
    found = mean_interval(pass_at_k(n, c, k, RULE))
    tally.add(f"adaptive pass@{k}", found.low, found.high, truth["before"][-1])
    found = mean_interval(trainability(n, c, GROUP, RULE))
    tally.add("adaptive trainability", found.low, found.high, truth["trainable"][0])


def truth_of(scenario):
    """Return the exact truth of every cell from the atoms of the population."""
    p, q = scenario.before_A, scenario.after_A
    ks = np.arange(1, min(scenario.n_choices) + 1)
    before = np.array([reach(p, k).mean() for k in ks])
    after = np.array([reach(q, k).mean() for k in ks])
    u, v = reach(p, ks[-1]), reach(q, ks[-1])
    both, new, lost = (u * v).mean(), ((1 - u) * v).mean(), (u * (1 - v)).mean()
    shares = 0.6 ** np.arange(12)
    shares = shares / shares.sum()
    found = np.mean([reach(p * share, ks[-1]).mean() for share in shares])
    return {
        "ks": ks,
        "points": (1, 8, int(ks[-1])),
        "before": before,
        "change": after - before,
        "trainable": [1 - (x**GROUP + (1 - x) ** GROUP).mean() for x in (p, q)],
        "polar": [1 - (x * (1 - x)).mean() / (x.mean() * (1 - x.mean())) for x in (p, q)],
        "retention SRR": both / u.mean(),
        "discovery NDR": new / v.mean(),
        "net change NSCR": (new - lost) / (both + new + lost),
        "relative support": v.mean() / u.mean(),
        "shares": shares,
        "coverage": found,
    }
