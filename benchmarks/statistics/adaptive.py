"""What an adaptive budget saves: certified transitions and support@k width per rollout.

    python benchmarks/statistics/adaptive.py [--replicates 40]

Fixed n = 256 against "stop at r successes, cap 256, looks every 8" on mixes of prompts, in which
a tenth of the prompts that can be solved is lost. Per mix: rollouts, lost prompts certified out of
those truly lost, false changes, width of the interval of mean support@64.
"""

from __future__ import annotations

import argparse

import numpy as np

from rewardable.metrics import StoppingRule, mean_interval, pass_at_k, transitions

CAP, K, PROMPTS = 256, 64, 200
RULE = StoppingRule(successes=12, cap=CAP, first=16, step=8)
MIXES = {"mostly easy": (2.0, 1.0, 0.05), "a tenth dead": (1.0, 1.5, 0.10), "hard": (0.4, 6, 0.30)}


def stopped(p, rng):
    n, c = np.zeros(p.size, dtype=int), np.zeros(p.size, dtype=int)
    for look in RULE.looks:
        going = (n == 0) | (c < RULE.successes)
        c[going] += rng.binomial((look - n)[going], p[going])
        n[going] = look
    return n, c


def population(a, b, dead, rng):
    p = np.where(rng.random(PROMPTS) < dead, 0.0, rng.beta(a, b, PROMPTS))
    lost = (p > 0) & (rng.random(PROMPTS) < 0.1)
    return p, np.where(lost, 0.0, p), lost


def once(p, q, lost, rng):
    n = np.full(PROMPTS, CAP)
    fixed = transitions(n, c := rng.binomial(n, p), n, rng.binomial(n, q))
    before, after = stopped(p, rng), stopped(q, rng)
    found = transitions(*before, *after, rule_before=RULE, rule_after=RULE)
    widths = [
        mean_interval(pass_at_k(n, c, K)),
        mean_interval(pass_at_k(*before, K, RULE)),
    ]
    rows = []
    for result, width, used in (
        (fixed, widths[0], 2 * CAP * PROMPTS),
        (found, widths[1], before[0].sum() + after[0].sum()),
    ):
        called = np.isin(result.calls, ("lost", "reduced"))
        moved = np.isin(result.calls, ("lost", "reduced", "gained", "raised"))
        rows.append(
            [used, (called & lost).sum(), lost.sum(), (moved & ~lost).sum(), width.high - width.low]
        )
    return np.array(rows, dtype=float)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=40)
    options = parser.parse_args()
    print(
        f"{'mix':14s} {'rollouts':>9s} {'certified':>10s} {'of fixed':>9s} {'false':>6s} {'width':>7s}"
    )
    for name, shape in MIXES.items():
        rng = np.random.default_rng(1)
        rows = np.mean(
            [once(*population(*shape, rng), rng) for _ in range(options.replicates)], axis=0
        )
        fixed, adaptive = rows
        print(
            f"{name:14s} {adaptive[0] / fixed[0]:9.1%} {adaptive[1] / adaptive[2]:10.1%} "
            f"{adaptive[1] / fixed[1]:9.1%} {adaptive[3]:6.2f} {adaptive[4] / fixed[4]:7.3f}"
        )


if __name__ == "__main__":
    main()
