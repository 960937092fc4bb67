"""Cells of labels (coverage, richness), votes and graded scores."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from scenarios import reach

from rewardable.metrics import (
    LabelCounts,
    best_at_k,
    chao1,
    coverage,
    distinct_at_k,
    graded_trainability,
    maj_at_k,
    mean_interval,
    rarefied_coverage,
    reward_variance,
    unseen_mass,
)

SHARES = np.stack([0.6 ** np.arange(12), 0.9 ** np.arange(12)])
SHARES /= SHARES.sum(axis=1, keepdims=True)
WRONG = np.array([0.5, 0.3, 0.2])
EQUAL = np.full(12, 1 / 12)
SUCCESSES, VOTES, GROUP = 4, 8, 4


def labels_truth(scenario):
    """Every prompt is of one of two kinds, steep and flat shares of 12 solutions, at random."""
    p, k = scenario.before_A, int(scenario.ks[-1])
    found = np.mean([reach(p * share, k).mean() for share in SHARES.ravel()])
    rare = np.mean(reach(SHARES, SUCCESSES))
    unseen = np.mean([_unseen(scenario, n) for n in scenario.n_choices])
    return {"coverage": found, "rarefied": rare, "unseen": unseen}


def _unseen(scenario, n):
    """Return the expected unseen probability after n - 1 rows, wrong answers labelled too."""
    p = scenario.before_A
    wrong = sum(((1 - p) * w * (1 - (1 - p) * w) ** (n - 1)).mean() for w in WRONG)
    right = sum((p * s * (1 - p * s) ** (n - 1)).mean() for s in SHARES.ravel())
    return wrong + right / len(SHARES)


def labels(scenario, truth, rng, tally):
    n, c, d, _, _ = scenario.draw(rng)
    k = int(scenario.ks[-1])
    kind = rng.integers(0, len(SHARES), n.size)
    seen, after = (_count(rng.multinomial(x, SHARES[kind])) for x in (c, d))
    totals = np.full(n.size, SHARES.shape[1])
    found = mean_interval(coverage(seen, totals, n, k))
    tally.add("coverage", found.low, found.high, truth["coverage"])
    found = mean_interval(distinct_at_k(seen, n, k), bounds=(0.0, float(totals[0])))
    tally.add("distinct solutions", found.low, found.high, truth["coverage"] * totals[0])
    rare = rarefied_coverage([seen, after], np.stack([c, d]), totals, SUCCESSES)
    kept = rare.value_AP[0][~np.isnan(rare.value_AP[0])]
    if kept.size:
        found = mean_interval(kept)
        tally.add("rarefied coverage", found.low, found.high, truth["rarefied"])
    answers = np.hstack([rng.multinomial(c, SHARES[kind]), rng.multinomial(n - c, WRONG)])
    found = mean_interval(unseen_mass(_count(answers), n))
    tally.add("unseen mass", found.low, found.high, truth["unseen"])
    _richness(c, kind, seen, rng, tally)


def _richness(c, kind, seen, rng, tally):
    some, exist = c > 0, np.full(c.size, SHARES.shape[1])
    rich = chao1(seen, c)
    least, most = rich.low_P[some], np.full(some.sum(), np.inf)
    tally.each("each prompt's chao1: lower end is no more than exist", least, most, exist[some])
    even = chao1(_count(rng.multinomial(c, EQUAL)), c)
    name = "each prompt's chao1: interval of what it estimates"
    tally.each(name, even.low_P[some], even.high_P[some], _expected_chao1()[c[some]])


@lru_cache
def _expected_chao1():
    """Return the mean of chao1 by number of successes, 12 equally likely labels (2,000 draws)."""
    rng, mean = np.random.default_rng(0), np.zeros(129)
    for c in range(1, mean.size):
        drawn = _count(rng.multinomial(c, EQUAL, size=2000))
        mean[c] = chao1(drawn, np.full(2000, c)).least_P.mean()
    return mean


def _count(table_PL):
    """Return label counts from a table [P, L]."""
    prompt, code = np.nonzero(table_PL)
    return LabelCounts(prompt_L=prompt, count_L=table_PL[prompt, code])


def votes_truth(scenario):
    return {"maj": _majority(scenario.before_A).mean()}


def _majority(p):
    """Enumerate the votes of 8 rollouts over one right and three wrong answers, ties split."""
    total = np.zeros_like(p)
    for chosen in combinations_with_replacement(range(4), VOTES):
        count = np.bincount(chosen, minlength=4)
        if count[0] < count.max():
            continue
        ways = factorial(VOTES) / np.prod([factorial(x) for x in count])
        chance = ways * p ** count[0] * (1 - p) ** (VOTES - count[0]) * np.prod(WRONG ** count[1:])
        total += chance / (count == count.max()).sum()
    return total


def votes(scenario, truth, rng, tally):
    n, c, _, _, _ = scenario.draw(rng)
    table = np.hstack([c[:, None], rng.multinomial(n - c, WRONG)])
    right = np.nonzero(table)[1] == 0
    value = maj_at_k(_count(table), right, n, VOTES, draws=4, seed=int(rng.integers(1 << 30)))
    found = mean_interval(value)
    tally.add(f"maj@{VOTES}", found.low, found.high, truth["maj"])


def scores_truth(scenario):
    """A wrong rollout gets score 0.5 half of the time."""
    p = scenario.before_A
    half = (1 - p) / 2
    best = 0.5 * (reach(p, 8) + reach(p + half, 8)).mean()
    variance = (p + half / 4 - (p + half / 2) ** 2).mean()
    varied = (1 - p**GROUP - 2 * half**GROUP).mean()
    return {"best": best, "variance": variance, "varied": varied}


def scores(scenario, truth, rng, tally):
    n, c, _, _, _ = scenario.draw(rng)
    half = rng.binomial(n - c, 0.5)
    held = np.stack([n - c - half, half, c], axis=1)
    prompt = np.repeat(np.arange(n.size), n)
    score = np.repeat(np.tile([0.0, 0.5, 1.0], n.size), held.ravel())
    found = mean_interval(best_at_k(score, prompt, n.size, 8))
    tally.add("best@8", found.low, found.high, truth["best"])
    found = mean_interval(reward_variance(score, prompt, n.size))
    tally.add("reward variance", found.low, found.high, truth["variance"])
    found = mean_interval(graded_trainability(score, prompt, n.size, GROUP))
    tally.add("graded trainability", found.low, found.high, truth["varied"])
