"""Coverage of every interval and band on populations whose truth is known.

    python benchmarks/coverage/run.py                    2,000 replicates of every scenario
    python benchmarks/coverage/run.py --only rare --replicates 200

Exits with 1 when a cell lies below the goal by more than chance (one-sided 1 %), unless the cell
is declared open in docs/coverage-open.md. Cells in which no interval was given are listed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cells import Tally, replicate, truth_of
from scenarios import scenarios

GOAL = 0.94
OPEN = Path(__file__).resolve().parents[2] / "docs" / "coverage-open.md"


def below_goal(hits, tries):
    """Return whether ``hits`` of ``tries`` contradict the goal at one-sided 1 %."""
    return hits + 2.33 * np.sqrt(tries * GOAL * (1 - GOAL)) < GOAL * tries


def declared_open():
    if not OPEN.is_file():
        return set()
    lines = OPEN.read_text(encoding="utf-8").splitlines()
    return {line[2:].split(":")[0].strip("` ") for line in lines if line.startswith("- ")}


def run(scenario, replicates, seed):
    truth, tally = truth_of(scenario), Tally()
    rng = np.random.default_rng([seed, scenario.prompts])
    for _ in range(replicates):
        replicate(scenario, truth, rng, tally)
    return tally


def report(scenario, tally, known):
    failed = []
    for cell, tries in tally.tries.items():
        share = tally.hits[cell] / tries
        key = f"{scenario.key}/{cell}"
        bad = below_goal(tally.hits[cell], tries)
        mark = "open" if bad and key in known else ("BELOW" if bad else "")
        none = tally.none.get(cell, 0)
        width = tally.width[cell] / tries
        note = f"(no interval in {none})" if none else ""
        print(f"{key:58s} {share:7.4f} {width:9.4f} {tries:6d} {mark} {note}")
        if mark == "BELOW":
            failed.append(key)
    for cell in set(tally.none) - set(tally.tries):
        print(f"{scenario.key}/{cell}: no interval in any of {tally.none[cell]} replicates")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--only", default="", help="scenarios whose key contains this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    known, failed = declared_open(), []
    print(f"{'scenario/cell':58s} {'covers':>7s} {'width':>9s} {'tries':>6s}")
    for scenario in scenarios():
        if options.only in scenario.key:
            begun = time.perf_counter()
            tally = run(scenario, options.replicates, options.seed)
            failed += report(scenario, tally, known)
            print(f"# {scenario.key}: {time.perf_counter() - begun:.0f} s", flush=True)
    print(f"{len(failed)} cells below {GOAL:.0%}" + "".join(f"\n  {key}" for key in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
