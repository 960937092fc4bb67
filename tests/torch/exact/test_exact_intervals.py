"""Intervals from real samples of the pocket policy contain its exact values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rewardable.metrics import (
    StoppingRule,
    binomial_interval,
    count_labels,
    coverage,
    curve_band,
    fixed_prompts_interval,
    mean_interval,
    paired_band,
    pass_at_k,
    polarisation,
    polarisation_change,
    reward_variance,
    stopped_interval,
    support_dynamics,
    trainability,
    transitions,
)

LEVEL = 0.999
"""Dozens of intervals are asked for one sample: at 95 % one or two of them would rightly miss."""
BUDGETS = [1, 2, 4, 8, 16, 32, 64]


def counted(studied: Any) -> tuple[np.ndarray, np.ndarray]:
    sample = studied.sample
    return np.full(sample.c_P.size, sample.success_PN.shape[1]), sample.c_P


def covered(studied: Any, kind: str, k: int | list[int]) -> np.ndarray:
    code_PN = getattr(studied.sample, f"{kind}_PN")
    prompt = np.repeat(np.arange(len(code_PN)), code_PN.shape[1])
    totals = [each.totals[kind] for each in studied.exact.prompts]
    seen = count_labels(prompt, code_PN.reshape(-1), len(code_PN))
    return coverage(seen, totals, counted(studied)[0], k)


@pytest.mark.parametrize("k", [1, 4, 16, 64])
def test_mean_over_these_prompts(base: Any, sharp: Any, k: int) -> None:
    for studied in (base, sharp):
        found = fixed_prompts_interval(*counted(studied), k, level=LEVEL)
        assert found.low <= studied.exact.pass_at(k) <= found.high


@pytest.mark.parametrize("k", [1, 4, 16])
def test_mean_over_these_prompts_misses_as_often_as_it_says(
    base: Any, sharp: Any, simulated: Any, k: int
) -> None:
    """Of 200 intervals at 95 %, more than 20 miss with a chance below 0.001."""
    missed = 0
    for pair in simulated:
        for studied, sample in zip((base, sharp), pair, strict=True):
            found = fixed_prompts_interval(sample.success_PN.shape[1], sample.c_P, k)
            missed += not found.low <= studied.exact.pass_at(k) <= found.high
    assert missed <= 20


def test_curves(base: Any, sharp: Any) -> None:
    """Bands are over a population of prompts, so they are wider than these prompts need."""
    before, after = (pass_at_k(*counted(each), BUDGETS) for each in (base, sharp))
    true = [[each.exact.pass_at(k) for k in BUDGETS] for each in (base, sharp)]
    for values, curve in zip((before, after), true, strict=True):
        band = curve_band(values, level=LEVEL)
        assert (band.low_K <= curve).all()
        assert (curve <= band.high_K).all()
    change = paired_band(before, after, level=LEVEL)
    difference = np.subtract(true[1], true[0])
    assert (change.low_K <= difference).all()
    assert (difference <= change.high_K).all()
    assert difference[0] > 0.05


@pytest.mark.parametrize("kind", ["solution", "entry"])
def test_coverage_curves(base: Any, sharp: Any, kind: str) -> None:
    before, after = (covered(each, kind, BUDGETS) for each in (base, sharp))
    true = [[each.exact.coverage(kind, k) for k in BUDGETS] for each in (base, sharp)]
    change = paired_band(before, after, level=LEVEL)
    for values, curve, band in (
        (before, true[0], curve_band(before, level=LEVEL)),
        (after, true[1], curve_band(after, level=LEVEL)),
        (after - before, np.subtract(true[1], true[0]), change),
    ):
        assert np.abs(values.mean(axis=0) - curve).max() < 0.05
        assert (band.low_K <= curve).all()
        assert (curve <= band.high_K).all()


@pytest.mark.parametrize("group", [2, 8, 32])
def test_trainability(base: Any, sharp: Any, group: int) -> None:
    for studied in (base, sharp):
        found = mean_interval(trainability(*counted(studied), group), level=LEVEL)
        assert found.low <= studied.exact.trainability(group) <= found.high


def test_reward_variance_and_polarisation(base: Any, sharp: Any) -> None:
    for studied in (base, sharp):
        n_P, c_P = counted(studied)
        prompt = np.repeat(np.arange(n_P.size), n_P)
        found = reward_variance(studied.sample.success_PN.reshape(-1), prompt, n_P.size)
        p = np.array(studied.exact.rates)
        spread = mean_interval(found, level=LEVEL)
        assert spread.low <= (p * (1 - p)).mean() <= spread.high
        pushed = polarisation(n_P, c_P, level=LEVEL)
        assert pushed.low <= studied.exact.polarisation <= pushed.high
    change = polarisation_change(*counted(base), *counted(sharp), level=LEVEL)
    assert change.low <= sharp.exact.polarisation - base.exact.polarisation <= change.high


def test_support_dynamics(base: Any, sharp: Any) -> None:
    found = support_dynamics(*counted(base), *counted(sharp), k=4, level=LEVEL)
    u, v = (1 - (1 - np.array(each.exact.rates)) ** 4 for each in (base, sharp))
    retention, discovery = (u * v).mean() / u.mean(), ((1 - u) * v).mean() / v.mean()
    for interval, true in (
        (found.retention, retention),
        (found.discovery, discovery),
        (found.score, 2 * retention * discovery / (retention + discovery)),
        (found.net_change, (v - u).mean() / (u + v - u * v).mean()),
    ):
        assert interval.low <= true <= interval.high


def outside(low_P: np.ndarray, high_P: np.ndarray, true_P: np.ndarray) -> int:
    assert low_P.shape == high_P.shape == true_P.shape
    return int(((true_P < low_P) | (true_P > high_P)).sum())


def test_intervals_of_single_prompts(base: Any, sharp: Any) -> None:
    """Of 48 intervals at 95 %, more than 7 miss with a chance below 0.003."""
    rule = StoppingRule(successes=3, cap=96, first=8, step=8)
    missed, missed_stopped = 0, 0
    for studied in (base, sharp):
        p_P = np.array(studied.exact.rates)
        missed += outside(*binomial_interval(*counted(studied)), p_P)
        looks = np.cumsum(studied.sample.success_PN, axis=1)[:, rule.looks - 1]
        at = np.where((looks >= 3).any(axis=1), (looks >= 3).argmax(axis=1), looks.shape[1] - 1)
        c_P = looks[np.arange(p_P.size), at]
        missed_stopped += outside(*stopped_interval(rule, rule.looks[at], c_P), p_P)
    assert missed <= 7
    assert missed_stopped <= 7


def test_transitions_know_the_change_of_each_prompt(base: Any, sharp: Any) -> None:
    found = transitions(*counted(base), *counted(sharp))
    change_P = np.array(sharp.exact.rates) - np.array(base.exact.rates)
    assert outside(found.low_P, found.high_P, change_P) <= 5
    for calls, sign in ((("raised", "gained"), 1), (("reduced", "lost"), -1)):
        called = [i for i, call in enumerate(found.calls) if call in calls]
        assert len(called) > 1
        assert (sign * change_P[called] > 0).all()
