"""Cells of adaptive budgets: sampling that stops at a number of successes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scenarios import reach

from rewardable.metrics import (
    StoppingRule,
    mean_interval,
    paired_interval,
    pass_at_k,
    stopped_interval,
    trainability,
    transitions,
)
from rewardable.metrics.designs import benjamini_hochberg, design_law
from rewardable.metrics.pairs import design_p_values

GROUP, CHECKED = 8, 100
RULES = {
    "stop at 4": StoppingRule(successes=4, cap=64, first=8, step=8),
    "stop at 1": StoppingRule(successes=1, cap=64),
}


def stopped_truth(scenario):
    p, q, k = scenario.before_A, scenario.after_A, 64
    before = reach(p, k).mean()
    varied = 1 - (p**GROUP + (1 - p) ** GROUP).mean()
    return {"before": before, "change": reach(q, k).mean() - before, "varied": varied}


def sample(rule, p, rng):
    """Return (rollouts, successes) of prompts sampled under a rule."""
    n, c = np.zeros(p.size, dtype=int), np.zeros(p.size, dtype=int)
    for look in rule.looks:
        open_ = (n == 0) | (c < rule.successes)
        c[open_] += rng.binomial((look - n)[open_], p[open_])
        n[open_] = look
    return n, c


def stopped(scenario, truth, rng, tally):
    _, _, _, p, q = scenario.draw(rng)
    for name, rule in RULES.items():
        n, c = sample(rule, p, rng)
        m, d = sample(rule, q, rng)
        before, after = pass_at_k(n, c, 64, rule), pass_at_k(m, d, 64, rule)
        found = mean_interval(before)
        tally.add(f"{name}: pass@64", found.low, found.high, truth["before"])
        found = paired_interval(before, after)
        tally.add(f"{name}: pass@64 change", found.low, found.high, truth["change"])
        if rule.first >= GROUP:
            found = mean_interval(trainability(n, c, GROUP, rule))
            tally.add(f"{name}: trainability", found.low, found.high, truth["varied"])
        low, high = ends_of(rule)
        tally.each(f"{name}: each prompt's p", low[n, c], high[n, c], p)
        m, d = sample(rule, p, rng)
        lost = _lost(rule, (n, c), (m, d))
        tally.count(f"no false loss among all prompts, {name}", not lost.any())
        if rng.random() < 1 / CHECKED:
            found = transitions(n, c, m, d, rule_before=rule, rule_after=rule)
            same = np.array_equal(lost, np.array(found.calls) == "lost")
            tally.count(f"{name}: calls are those of transitions()", same)


@lru_cache
def ends_of(rule):
    """Return the exact interval of every final state, as tables [n, c]."""
    law = design_law(rule)
    low, high = np.full((2, rule.cap + 1, rule.cap + 1), np.nan)
    low[law.n_S, law.c_S], high[law.n_S, law.c_S] = stopped_interval(rule, law.n_S, law.c_S)
    return low, high


def _lost(rule, before, after):
    """Return the calls "lost" of transitions(), without the intervals that it makes beside them."""
    q = benjamini_hochberg(design_p_values(rule, rule, before, after), 0.05)[0]
    return (q <= 0.05) & (before[1] > 0) & (after[1] == 0)
