"""Bets on the mean of an audit: e-values that hold at any sample size and any number of looks.

The claim is about *these* prompts: the mean over them of a block's expected value theta_i. A bettor
who doubts that this mean is at least m stakes the share ``stake`` on every block:

    factor of a block = 1 + stake * (g_i - value),   g_i = m - mean(a) + a_i

with ``a_i`` what is known of prompt i beforehand (from the start's audit), which takes the
differences between prompts out. Given the past the factors of a look are independent, and their
product has the expectation prod_i (1 + stake * (g_i - theta_i))^b. By the inequality of arithmetic
and geometric means that is at most (1 + stake * (m - mean theta))^(P b), hence at most 1 when the
mean is at least m: an e-value, however the theta_i differ. Its average over all ways to put a
prompt's rollouts into blocks is one too and is computed exactly from the counts.

Sources: betting on bounded means, Waudby-Smith and Ramdas 2024; Ville's inequality; mixtures over
the time at which a change begins, Shin, Ramdas and Rinaldo 2022 (e-detectors). The block form and
the fixed-prompts form are derived here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rewardable.guard.blocks import Blocks, Floats

SHARES = np.array([0.2, 0.5, 0.95])
_HALVINGS = 14
_LEAST_ROOM = 0.05
"""Keeps stakes below 20, where the alternating sum of moments is still exact to 1e-6."""


def fall_stakes(m: float, centre_P: Floats, top_P: Floats) -> Floats:
    """Return stakes for "the mean is below m" that keep every factor positive, shape [L]."""
    headroom = float((top_P - (m - centre_P.mean() + centre_P)).max())
    return SHARES / max(headroom, _LEAST_ROOM)


def log_fall(blocks: Blocks, m: float, centre_P: Floats, stake_L: Floats) -> Floats:
    """Return the log factor of one look under the bet "the mean is below m", shape [L]."""
    goal_P = m - centre_P.mean() + centre_P
    hit_PL = 1.0 + (goal_P[:, None] - 1.0) * stake_L[None, :]
    return _log_product(blocks, hit_PL, stake_L)


def log_rise(blocks: Blocks, m: float, centre_P: Floats) -> Floats:
    """Return the log factor of one look under the bet "the mean is above m", shape [L]."""
    goal_P = m - centre_P.mean() + centre_P
    stake_L = SHARES / max(float(goal_P.max()), _LEAST_ROOM)
    hit_PL = 1.0 + (1.0 - goal_P[:, None]) * stake_L[None, :]
    return _log_product(blocks, hit_PL, -stake_L)


def _log_product(blocks: Blocks, hit_PL: Floats, miss_L: Floats) -> Floats:
    """Sum over prompts of log sum_r E[C(J, r)] miss^r hit^(b - r)."""
    powers = np.arange(blocks.size + 1)
    hit_PLB = hit_PL[:, :, None] ** (blocks.size - powers)
    miss_LB = miss_L[:, None] ** powers
    factor_PL = (blocks.moment_PB[:, None, :] * hit_PLB * miss_LB[None, :, :]).sum(2)
    return np.log(np.maximum(factor_PL, 1e-300)).sum(0)


def log_mean_exp(values: Floats) -> float:
    """Return the log of the mean of exp(values)."""
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).mean()))


def lower_bound(looks: Sequence[Blocks], log_needed: float) -> float:
    """Return a lower bound on the mean of repeated looks at one policy.

    The chance that it exceeds the mean over these prompts is at most exp(-log_needed). Each look
    is paired with the average of the looks before it; the e-value is averaged over the rotations
    of their order.
    """
    orders = [[*looks[start:], *looks[:start]] for start in range(len(looks))]
    paired = [_paired(order) for order in orders]

    def rejected(m: float) -> bool:
        logs = [
            np.sum([log_rise(blocks, m, centre) for blocks, centre in order], axis=0)
            for order in paired
        ]
        return log_mean_exp(np.concatenate(logs)) >= log_needed

    mean = float(np.mean([blocks.value.mean() for blocks in looks]))
    return _edge(0.0, mean, rejected)


def _paired(order: Sequence[Blocks]) -> list[tuple[Blocks, Floats]]:
    """Give every look what the looks before it know, drawn a little towards their mean."""
    pairs: list[tuple[Blocks, Floats]] = []
    for at, blocks in enumerate(order):
        pairs.append((blocks, known_before(order[:at], blocks.value.size)))
    return pairs


def known_before(looks: Sequence[Blocks], prompts: int) -> Floats:
    """Return a_i: the mean over looks per prompt, shrunk towards the overall mean; 0 without."""
    if not looks:
        return np.zeros(prompts)
    value_P = np.mean([blocks.value for blocks in looks], axis=0)
    weight = sum(blocks.size for blocks in looks)
    return (weight * value_P + value_P.mean()) / (weight + 1.0)


def look_interval(blocks: Blocks, centre_P: Floats, log_needed: float) -> tuple[float, float]:
    """Return bounds of one look's mean; each fails with a chance of at most exp(-log_needed)."""
    mean = float(blocks.value.mean())

    def below(m: float) -> bool:
        return log_mean_exp(log_rise(blocks, m, centre_P)) >= log_needed

    def above(m: float) -> bool:
        logs = log_fall(blocks, m, centre_P, fall_stakes(m, centre_P, blocks.top_P))
        return log_mean_exp(logs) >= log_needed

    return _edge(0.0, mean, below), _edge(float(blocks.top_P.mean()), mean, above)


def _edge(far: float, near: float, rejected: Callable[[float], bool]) -> float:
    """Bisect between a far end that may be rejected and a near one that is not."""
    if not rejected(far):
        return far
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        far, near = (middle, near) if rejected(middle) else (far, middle)
    return far
