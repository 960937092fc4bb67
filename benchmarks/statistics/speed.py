"""Time of pass@k with a simultaneous band, beside passk-inference on the same counts.

    python benchmarks/statistics/speed.py [--prompts 500] [--n 512] [--draws 4000]

Needs passk-inference 0.3.1 in the same environment for the ratio; without it, it says so. Both
run in this process, alternating, and the median of the runs is taken. Exits with 1 when the ratio
is below the goal.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np

from rewardable.metrics import paired_band, pass_at_k

GOAL = 20.0
RUNS = 5


def timed(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--draws", type=int, default=4000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, options.prompts)
    n, k = np.full(options.prompts, options.n), np.arange(1, options.n + 1)
    c, d = rng.binomial(n, p), rng.binomial(n, np.clip(1.3 * p, 0, 1))

    def ours():
        return paired_band(pass_at_k(n, c, k), pass_at_k(n, d, k), draws=options.draws)

    try:
        from passk_inference.core import compare
    except ImportError:
        print(f"rewardable {statistics.median(timed(ours) for _ in range(RUNS)):.4f} s")
        print("passk-inference is not installed: no ratio (pip install passk-inference==0.3.1)")
        return 0

    def peer():
        return compare(c, n, d, n, bootstrap=options.draws)

    ours()
    pairs = [(timed(ours), timed(peer)) for _ in range(RUNS)]
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"rewardable {mine:.4f} s, passk-inference {other:.4f} s, ratio {other / mine:.1f}")
    return 0 if other / mine >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
