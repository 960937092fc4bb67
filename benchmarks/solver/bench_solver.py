"""Time the Countdown solver against plain enumeration over Fractions, in one run.

    python benchmarks/solver/bench_solver.py [--instances 10] [--six]

Plain: every subset's expressions as (Fraction, text), joined pairwise with + - * /, no
expression dropped; texts that reach the target are canonicalised and collected. Both give the
same solutions (checked). Tables are built before timing; their build time is printed.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from fractions import Fraction

from rewardable.tasks.countdown import canonical, solve
from rewardable.tasks.countdown.evaluate import program


def expressions(numbers: list[int], mask: int, known: dict[int, list[tuple[Fraction, str]]]):
    """All (value, text) of the numbers in ``mask``, each used once."""
    if mask.bit_count() == 1:
        number = numbers[mask.bit_length() - 1]
        yield Fraction(number), str(number)
        return
    for left in range(1, mask):
        if left & mask != left:
            continue
        for part in (left, mask - left):
            if part not in known:
                known[part] = list(expressions(numbers, part, known))
        for a, x in known[left]:
            for b, y in known[mask - left]:
                yield a + b, f"({x}+{y})"
                yield a - b, f"({x}-{y})"
                yield a * b, f"({x}*{y})"
                if b:
                    yield a / b, f"({x}/{y})"


def solve_plainly(numbers: list[int], target: int) -> set[str]:
    """Return the canonical texts of all solutions."""
    full = 2 ** len(numbers) - 1
    return {canonical(text) for value, text in expressions(numbers, full, {}) if value == target}


def timed(function, *args):
    """Return (result, seconds)."""
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def compare(n: int, instances: int, rng: random.Random) -> None:
    """Print the build time, medians and the ratio of totals for n numbers."""
    _, build = timed(program, n)
    solve(list(range(1, n + 1)), 10)
    plain_s, fast_s, found = [], [], 0
    for _ in range(instances):
        numbers = [rng.randint(1, 20) for _ in range(n)]
        target = rng.randint(10, 99)
        plain, seconds = timed(solve_plainly, numbers, target)
        plain_s.append(seconds)
        solved, seconds = timed(solve, numbers, target)
        fast_s.append(seconds)
        if {solution.text for solution in solved} != plain:
            raise SystemExit(f"different solutions for {numbers} -> {target}")
        found += len(plain)
    print(
        f"{n} numbers: build {build * 1e3:.0f} ms; plain {statistics.median(plain_s) * 1e3:.2f} ms,"
        f" solve {statistics.median(fast_s) * 1e3:.3f} ms (medians of {instances});"
        f" ratio of totals {sum(plain_s) / sum(fast_s):.0f}x; {found} solutions, all equal"
    )


def six(instances: int, rng: random.Random) -> None:
    """Print time and peak memory of 6 numbers."""
    _, build = timed(program, 6)
    seconds, found = [], 0
    for _ in range(instances):
        numbers = [rng.randint(1, 20) for _ in range(6)]
        solved, took = timed(solve, numbers, rng.randint(10, 99))
        seconds.append(took)
        found += len(solved)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"6 numbers: build {build:.2f} s; solve {statistics.median(seconds) * 1e3:.0f} ms "
        f"(median of {instances}); {found} solutions; peak memory of the process {peak:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--six", action="store_true", help="also time 6 numbers (without plain)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    compare(3, args.instances * 20, rng)
    compare(4, args.instances * 5, rng)
    compare(5, args.instances, rng)
    if args.six:
        six(args.instances, rng)


if __name__ == "__main__":
    main()
