"""Time and memory of a whole ``measure``, beside DuckDB reading the same texts.

    python benchmarks/statistics/measure_speed.py                          1 M rollouts
    python benchmarks/statistics/measure_speed.py --rollouts 1000000,3000000,10000000

A simulated run of two policies on 2,000 prompts, texts of 300 characters, is written through the
store. Then two processes per repetition, alternating, with the same number of threads: one makes
all tables of the run; the other reads the same texts through DuckDB and counts the distinct ones
per policy and prompt. Imports are not timed; wall and processor time are (on a busy machine trust
the latter). Exits with 1 when the ratio of processor times, or of wall times, is above 5 in the
median, the peak resident memory reaches 2 GB at 1 M, or the time per rollout grows by half or more
from the smallest to the largest run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from rewardable.measure import MeasureConfig, measure_run
from rewardable.records import (
    Completion,
    FinishReason,
    Graded,
    Outcome,
    Policy,
    Rollout,
    RolloutId,
    SamplingSpec,
    Verdict,
    user_prompt,
)
from rewardable.store import Run

PROMPTS, CHARACTERS, SLICE = 2000, 300, 20
MOST_RATIO, MOST_BYTES, MOST_GROWTH = 5.0, 2e9, 1.5
SPEC = SamplingSpec(temperature=1.0, max_new_tokens=128)
POLICIES = tuple(Policy(name=name, weights=name, template="raw") for name in ("base", "trained"))


def build(folder, rollouts):
    """Write the run: the base never repeats a text; the trained policy does, and is right more."""
    rng = np.random.default_rng(0)
    facts = {"totals": {"solution": 40}}
    prompts = [user_prompt("speed", "1", f"problem {i}", facts) for i in range(PROMPTS)]
    n = rollouts // (2 * PROMPTS)
    run = Run.create(folder, {"simulated": True})
    with run.bulk() as bulk:
        bulk.add_prompts(prompts)
        bulk.add_policies(POLICIES)
        bulk.add_specs([SPEC])
        for at in range(0, PROMPTS, SLICE):
            rows = [
                row
                for policy, variety in zip(POLICIES, (1.0, 0.3), strict=True)
                for place in range(at, at + SLICE)
                for row in _rows(policy.key, prompts[place].key, n, variety, rng)
            ]
            bulk.add([row for row, _ in rows], [Graded(id=row.id, verdict=v) for row, v in rows])


def _rows(policy, prompt, n, variety, rng):
    p = rng.beta(0.5, 1.5) ** (1.0 if variety == 1 else 0.5)
    kinds = max(1, round(n * variety))
    words = rng.integers(0, 16, (kinds, CHARACTERS), dtype=np.uint8) + ord("a")
    texts = [row.tobytes().decode("ascii") for row in words]
    solved = rng.random(kinds) < p
    chosen = range(n) if kinds == n else rng.integers(0, kinds, n).tolist()
    for index, kind in enumerate(chosen):
        where = RolloutId(policy_key=policy, spec_key=SPEC.key, prompt_key=prompt, index=index)
        done = Completion(text=texts[kind], finish_reason=FinishReason.STOP)
        labels = {"answer": f"{0 if solved[kind] else 1 + kind % 5}"}
        if solved[kind]:
            labels["solution"] = f"{kind % 40}"
        said = Verdict(
            outcome=Outcome.CORRECT if solved[kind] else Outcome.WRONG,
            verifier="simulated",
            version="1",
            labels=labels,
        )
        yield Rollout(id=where, completion=done), said


def warm_up():
    """Do what DuckDB and pyarrow load at their first use before the clock runs."""
    with duckdb.connect() as connection:
        connection.register("nothing", pa.table({"x": [1]}))
        connection.execute("SELECT * FROM nothing").fetchall()


def measured(folder):
    base, trained = (policy.key for policy in POLICIES)
    tables = measure_run(Run.open(folder), MeasureConfig(base=base, trained=(trained,)))
    return sum(len(table.rows) for table in tables.values())


def counted(folder, threads):
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {threads}")
        rows = connection.execute(
            "SELECT policy_key, prompt_key, count(DISTINCT text) FROM "
            f"read_parquet('{folder}/rollouts/*.parquet') GROUP BY ALL"
        ).fetchall()
    return len(rows)


def child(side, folder, threads):
    """Run one side in this process and print what it took."""
    if side == "build":
        build(folder, threads)
        return 0
    warm_up()
    wall, cpu = time.perf_counter(), time.process_time()
    found = measured(folder) if side == "measure" else counted(folder, threads)
    took = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "rows": found}
    took["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(took))
    return 0


def call(side, folder, number):
    words = [sys.executable, __file__, "--child", side, "--folder", str(folder), "--number", number]
    done = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else {}


def compare(folder, rollouts, options):
    """Build where needed, run both sides, print; return (ratios hold, seconds a rollout)."""
    if not (folder / "config.toml").exists() and not any(folder.glob("rollouts/*")):
        begun = time.perf_counter()
        call("build", folder, rollouts)
        print(f"# built {rollouts:,} rollouts in {time.perf_counter() - begun:.0f} s", flush=True)
    pairs = [
        (call("measure", folder, 0), call("duckdb", folder, options.threads))
        for _ in range(options.runs)
    ]
    ours, theirs = zip(*pairs, strict=True)
    middle = {
        (name, key): statistics.median(one[key] for one in side)
        for name, side in (("measure", ours), ("duckdb", theirs))
        for key in ("wall", "cpu")
    }
    peak = max(one["peak"] for one in ours)
    ratios = [middle["measure", key] / middle["duckdb", key] for key in ("wall", "cpu")]
    print(
        f"{rollouts:11,d} rollouts: measure {middle['measure', 'wall']:.2f} s wall, "
        f"{middle['measure', 'cpu']:.2f} s cpu, peak {peak / 1e9:.2f} GB, {ours[0]['rows']} rows; "
        f"DuckDB {middle['duckdb', 'wall']:.2f} s wall, {middle['duckdb', 'cpu']:.2f} s cpu; "
        f"ratio {ratios[0]:.1f} wall, {ratios[1]:.1f} cpu",
        flush=True,
    )
    small = peak < MOST_BYTES * max(1.0, rollouts / 1e6)
    return max(ratios) <= MOST_RATIO and small, middle["measure", "cpu"] / rollouts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rollouts", default="1000000", help="one or several sizes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="folder for the runs, kept for the next call")
    parser.add_argument("--child", choices=("build", "measure", "duckdb"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--number", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child, options.folder, options.number)
    with tempfile.TemporaryDirectory() as place:
        root = options.keep or Path(place)
        sizes = [int(text) for text in options.rollouts.split(",")]
        found = [compare(root / f"run-{size}", size, options) for size in sizes]
    good = all(held for held, _ in found)
    growth = found[-1][1] / found[0][1]
    if len(found) > 1:
        print(f"time per rollout grows {growth:.2f} times from {sizes[0]:,} to {sizes[-1]:,}")
    return 0 if good and growth < MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
