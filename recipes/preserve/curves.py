r"""Draw and tabulate what `campaign.py` measured.

    python recipes/preserve/curves.py runs/preserve --out docs/figures/preserving.svg

One panel a measure, one line a method: the mean over its seeds. The table gives the last step, and
the paired difference from `plain` (per prompt the mean over seeds; intervals cover prompts and
samples, not training seeds). The last column is the coverage that plain GRPO had when its pass@1
was that high: a method that only learns more slowly does not lie above it.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from rewardable.metrics import paired_interval, trainability

TRAINED, FUTURE = "countdown-steps", "countdown-steps-start"
GROUP = 8
MEASURES = ("pass@1", "coverage@64", "future trainability")


def values(tasks: dict[str, Any]) -> dict[str, np.ndarray]:
    """Per-prompt values of one checkpoint, prompts in order of their keys."""
    n, c, d, total = np.array([tasks[TRAINED][k] for k in sorted(tasks[TRAINED])]).T
    later = np.array([tasks[FUTURE][k] for k in sorted(tasks[FUTURE])]).T
    return {
        "pass@1": c / n,
        "coverage@64": d / total,
        "future trainability": np.asarray(trainability(later[0], later[1], GROUP)),
    }


def read(folder: Path) -> dict[str, dict[int, dict[int, dict[str, np.ndarray]]]]:
    """Return method -> seed -> step -> measure -> per-prompt values."""
    found: dict[str, Any] = defaultdict(dict)
    for path in sorted(folder.glob("*/truth.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        series = {int(step): values(tasks) for step, tasks in truth["series"].items()}
        found[truth["method"]][truth["seed"]] = series
    return found


def over_seeds(runs: dict[int, Any], step: int, measure: str) -> np.ndarray:
    return np.mean([run[step][measure] for run in runs.values()], axis=0)


def row(method: str, runs: dict[int, Any], plain: dict[int, Any]) -> str:
    last = max(next(iter(runs.values())))
    shared = {seed: plain[seed] for seed in runs if seed in plain}
    cells = [method, str(len(runs))]
    for measure in MEASURES:
        here = over_seeds({s: runs[s] for s in shared} or runs, last, measure)
        each = "/".join(f"{run[last][measure].mean():.2f}" for run in runs.values())
        cell = f"{here.mean():.3f} ({each})"
        if method != "plain" and shared:
            gap = paired_interval(over_seeds(shared, last, measure), here)
            cell += f"; {gap.mean:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]"
        cells.append(cell)
    pairs = over_seeds(runs, last, "pass@1").mean()
    cells.append(plain_at(plain, pairs) if method not in ("plain", "base") else "-")
    return "| " + " | ".join(cells) + " |"


def plain_at(plain: dict[int, Any], success: float) -> str:
    """Return the coverage that plain GRPO had when its pass@1 was this, between its checkpoints."""
    points = [
        tuple(over_seeds(plain, step, m).mean() for m in MEASURES[:2])
        for step in sorted(next(iter(plain.values())))
    ]
    for (low, before), (high, after) in itertools.pairwise(points):
        if low <= success <= high:
            return f"{before + (after - before) * (success - low) / (high - low):.2f}"
    return "-"


def chart(found: dict[str, Any], names: list[str]) -> str:
    points = [
        {"method": name, "step": step, "measure": measure,
         "value": float(over_seeds(found[name], step, measure).mean())}
        for name in names
        for step in sorted(next(iter(found[name].values())))
        for measure in MEASURES
    ]  # fmt: skip
    lines = [
        alt.Chart(alt.Data(values=[p for p in points if p["measure"] == measure]),
                  title=measure, width=230, height=210)
        .mark_line(point=True, strokeWidth=2)
        .encode(x=alt.X("step:Q").title("GRPO steps"),
                y=alt.Y("value:Q").title(None).scale(zero=False),
                color=alt.Color("method:N").sort(names).scale(scheme="tableau20"))
        for measure in MEASURES
    ]  # fmt: skip
    spec = alt.hconcat(*lines).configure(background="#ffffff", padding=10).to_dict()
    return vl_convert.vegalite_to_svg(spec)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--methods", nargs="+")
    args = parser.parse_args()
    found = read(args.folder)
    names = args.methods or [name for name in found if not name.startswith("guard-")]
    base = {seed: {0: run[0]} for seed, run in found["plain"].items()}
    print("| method | seeds | " + " | ".join(MEASURES) + " | plain's coverage then |")
    print("|---|---|---|---|---|---|")
    print(row("base", base, {}))
    for name in names:
        print(row(name, found[name], found["plain"]))
    if args.out:
        args.out.write_text(chart(found, names), encoding="utf-8")


if __name__ == "__main__":
    main()
