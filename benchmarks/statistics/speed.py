"""Time of pass@k with a simultaneous band, beside passk-inference on the same counts.

    python benchmarks/statistics/speed.py [--prompts 500] [--n 512] [--draws 4000] [--threads 1]

Needs passk-inference 0.3.1 in the same environment for the ratio; without it, it says so. Both run
in this process with the same number of BLAS threads and of bootstrap draws, alternating, and the
median of the runs is taken, of wall and of processor time (on a busy machine trust the latter).
Exits with 1 when either ratio is below the goal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

import numpy as np

from rewardable.metrics import paired_band, pass_at_k

GOAL = 20.0
RUNS = 5
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def timed(call):
    """Return (wall, processor) seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def medians(times):
    return [statistics.median(column) for column in zip(*times, strict=True)]


def with_threads(number):
    """Start this program anew where BLAS was loaded with another number of threads."""
    told = dict.fromkeys(THREADS, str(number))
    if any(os.environ.get(name) != value for name, value in told.items()):
        words = [sys.executable, __file__, *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | told)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads of both")
    options = parser.parse_args()
    with_threads(options.threads)
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, options.prompts)
    n, k = np.full(options.prompts, options.n), np.arange(1, options.n + 1)
    c, d = rng.binomial(n, p), rng.binomial(n, np.clip(1.3 * p, 0, 1))

    def ours():
        return paired_band(pass_at_k(n, c, k), pass_at_k(n, d, k), draws=options.draws)

    try:
        from passk_inference.core import compare
    except ImportError:
        wall, cpu = medians([timed(ours) for _ in range(RUNS)])
        print(f"rewardable {wall:.4f} s wall, {cpu:.4f} s cpu")
        print("passk-inference is not installed: no ratio (pip install passk-inference==0.3.1)")
        return 0

    def peer():
        return compare(c, n, d, n, bootstrap=options.draws)

    ours()
    pairs = [(timed(ours), timed(peer)) for _ in range(RUNS)]
    mine, other = (medians(side) for side in zip(*pairs, strict=True))
    ratios = [b / a for a, b in zip(mine, other, strict=True)]
    print(f"{options.threads} BLAS threads, {options.draws} draws")
    for name, one in (("rewardable", mine), ("passk-inference", other), ("ratio", ratios)):
        print(f"{name:16s} {one[0]:8.4f} wall {one[1]:8.4f} cpu")
    return 0 if min(ratios) >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
