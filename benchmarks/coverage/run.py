"""Coverage of every interval and band on populations whose truth is known.

    python benchmarks/coverage/run.py                       2,000 replicates of every scenario
    python benchmarks/coverage/run.py --only rare --groups curves,rates --replicates 200
    python benchmarks/coverage/run.py --worker 0/4          one of four processes on the same file
    python benchmarks/coverage/run.py --report              judge what the results file holds

Every finished chunk of replicates is a line of the results file, which a later call continues; a
chunk's random numbers depend on the seed, the scenario, the group and the chunk alone. Remove the
lines of a group whose code has changed (--forget GROUP).

A cell lies below the goal when its hits contradict it at one-sided 1 %: at 2,000 replicates a share
below 0.9276 for intervals and bands (goal 0.94), below 0.9387 for "no false ..." (goal 0.95).
Shares under the goal that chance explains are marked "near": give them more replicates. Exits with
1 when a cell lies below that is not declared open in docs/coverage-open.md, or has fewer
replicates than asked. Replicates without an interval are counted apart.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import zlib
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import curves
import designs
import labels
import models
import rates
from scenarios import scenarios
from tally import Results, Tally, below_goal, goal_of

HERE = Path(__file__).resolve().parent
OPEN = HERE.parents[1] / "docs" / "coverage-open.md"
CHUNK = 250


def nothing(scenario):
    return {}


GROUPS = {
    "curves": (curves.curves_truth, curves.curves),
    "clusters": (curves.clusters_truth, curves.clusters),
    "calls": (nothing, curves.calls),
    "fixed": (nothing, curves.fixed),
    "polarised": (rates.polarised_truth, rates.polarised),
    "rates": (rates.rates_truth, rates.rates),
    "half-rates": (rates.half_rates_truth, rates.rates),
    "trainable": (rates.trainable_truth, rates.trainable),
    "labels": (labels.labels_truth, labels.labels),
    "votes": (labels.votes_truth, labels.votes),
    "scores": (labels.scores_truth, labels.scores),
    "stopped": (designs.stopped_truth, designs.stopped),
    "models": (models.models_truth, models.models),
}


def declared_open():
    """Return the cells that docs/coverage-open.md lists: `scenario/cell`, or `*/cell` for all."""
    if not OPEN.is_file():
        return set()
    lines = OPEN.read_text(encoding="utf-8").splitlines()
    return {line.split("`")[1] for line in lines if line.startswith("- `")}


def code_digest():
    """Return a digest of the metrics as they are now."""
    root = HERE.parents[1] / "src" / "rewardable" / "metrics"
    digest = hashlib.sha256()
    for path in sorted(root.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def places(options):
    """Return the chunks asked for, chunk by chunk so that all cells fill evenly."""
    chunks = -(-options.replicates // CHUNK)
    return [
        (scenario, group, chunk)
        for chunk in range(chunks)
        for scenario in scenarios()
        if options.only in scenario.key
        for group in options.groups
    ]


def simulate(options, results):
    number, workers = (int(part) for part in options.worker.split("/"))
    code, truths = code_digest(), {}
    for at, (scenario, group, chunk) in enumerate(places(options)):
        place = (scenario.key, group, chunk)
        if at % workers != number or place in results:
            continue
        truth, check = GROUPS[group]
        known = truths.setdefault(place[:2], truth(scenario))
        words = (scenario.key, group)
        rng = np.random.default_rng([options.seed, chunk, *(zlib.crc32(w.encode()) for w in words)])
        tally, begun = Tally(), time.perf_counter()
        size = min(CHUNK, options.replicates - chunk * CHUNK)
        for _ in range(size):
            check(scenario, known, rng, tally)
        results.write(place, size, tally.cells, code)
        spent = time.perf_counter() - begun
        print(f"# {scenario.key} {group} {chunk}: {spent:.1f} s", file=sys.stderr, flush=True)


def report(scenario, options, results, known):
    """Print the cells of a scenario; return (below the goal, short of replicates)."""
    tally, codes = results.of(scenario.key, options.groups)
    below, short = [], []
    for cell, (hits, tries, width, none) in tally.cells.items():
        key = f"{scenario.key}/{cell}"
        if not tries:
            print(f"{key:74s} no interval in any of {none} replicates")
            continue
        goal, share = goal_of(cell), hits / tries
        mark = "near" if share < goal else ""
        if below_goal(hits, tries, goal):
            mark = "open" if known & {key, f"*/{cell}"} else "BELOW"
        note = f"(no interval in {none})" if none else ""
        print(f"{key:74s} {share:7.4f} {width / tries:9.4f} {tries:7d} {mark} {note}")
        below += [key] if mark == "BELOW" else []
    for group in options.groups:
        chunks = -(-options.replicates // CHUNK)
        short += [g for g in [group] if (scenario.key, group, chunks - 1) not in results]
    print(f"# {scenario.key}: code {', '.join(sorted(codes))}; short: {', '.join(short) or 'none'}")
    return below, short


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--only", default="", help="scenarios whose key contains this")
    parser.add_argument("--groups", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--results", type=Path, default=Path("build/coverage.jsonl"))
    parser.add_argument("--worker", default="0/1", help="number/workers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="simulate nothing more")
    parser.add_argument("--forget", default="", help="drop the lines of a group, then stop")
    options = parser.parse_args()
    options.groups = options.groups.split(",")
    for group in options.groups:
        if group not in GROUPS:
            parser.error(f"unknown group {group!r}; known: {', '.join(GROUPS)}")
    return options


def forget(path, group):
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if f'"group": "{group}"' not in line]
    path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
    print(f"{len(lines) - len(kept)} of {len(lines)} lines dropped")
    return 0


def main():
    options = parse()
    if options.forget:
        return forget(options.results, options.forget)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    results = Results(options.results, options.seed)
    if not options.report:
        simulate(options, results)
    known, failed, short = declared_open(), [], []
    print(f"{'scenario/cell':74s} {'covers':>7s} {'width':>9s} {'tries':>7s}")
    for scenario in scenarios():
        if options.only in scenario.key:
            below, lacking = report(scenario, options, results, known)
            failed, short = failed + below, short + lacking
    print(f"{len(failed)} cells below the goal" + "".join(f"\n  {key}" for key in failed))
    if short:
        print(f"{len(short)} groups have fewer than {options.replicates} replicates")
    return 1 if failed or short else 0


if __name__ == "__main__":
    sys.exit(main())
