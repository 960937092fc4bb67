r"""Turn runs of `campaign.py` into recorded runs that the guard is judged on.

    python recipes/preserve/recorded.py runs/preserve --out tests/golden/guard
    python benchmarks/guard/roc.py tests/golden/guard --every 10

One file a run: what the guard was shown (audits, and the logged numbers that it or a peer reads),
then a meta line with the truth: coverage of the enumerated solutions by fresh samples (48 held-out
prompts x 64) at the base and at every checkpoint. A run is *healthy* when its pass@1 rose and its
coverage is within 5 % of the base's at the end, *collapsing* when less than half is left; else
*other*, and not judged. Prompt keys are shortened to numbers.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

TRAINED = "countdown-steps"
KEPT = (
    "entropy", "entropy/first_token", "kl", "completions/mean_length", "distinct/outputs",
    "repetition/within_4", "format", "frac_reward_zero_std", "groups/constant", "reward/raw",
    "reward", "reward_std", "loss", "grad_norm", "clip_ratio/region_mean",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--methods", nargs="*", default=[])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    counts: dict[str, int] = {}
    for path in sorted(args.folder.glob("*/truth.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        seen = path.parent / "guard.jsonl"
        if not seen.is_file() or (args.methods and truth["method"] not in args.methods):
            continue
        meta = described(truth)
        counts[meta["truth"]["label"]] = counts.get(meta["truth"]["label"], 0) + 1
        rows = [shortened(json.loads(line)) for line in seen.read_text("utf-8").splitlines()]
        lines = [json.dumps(row, separators=(",", ":")) for row in (*rows, meta)]
        target = args.out / f"{meta['run']}.jsonl.gz"
        target.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n", mtime=0))
    print(counts)


def described(truth: dict[str, Any]) -> dict[str, Any]:
    """Return the meta line of a run."""
    series = {int(step): tasks[TRAINED].values() for step, tasks in truth["series"].items()}
    support = [
        [step, round(sum(d / total for _, _, d, total in rows) / len(rows), 4)]
        for step, rows in sorted(series.items())
    ]
    success = [
        round(sum(c / n for n, c, _, _ in rows) / len(rows), 4)
        for _, rows in sorted(series.items())
    ]
    return {
        "kind": "meta",
        "version": 1,
        "run": f"{truth['method']}-{truth['seed']}",
        "simulated": False,
        "truth": {
            "label": label(support[-1][1] / support[0][1], success[-1] - success[0]),
            "support": support,
            "measure": "coverage of the enumerated solutions, 48 held-out prompts x 64",
        },
        "config": {"method": truth["method"], "seed": truth["seed"], "pass@1": success},
    }


def label(kept: float, gain: float) -> str:
    """Say what a run was by its end."""
    if kept < 0.5:
        return "collapsing"
    return "healthy" if kept >= 0.95 and gain > 0 else "other"


def shortened(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what nobody judges."""
    found: dict[str, Any] = {"kind": "row", "step": row["step"]}
    numbers = {k: float(f"{row['metrics'][k]:.5g}") for k in KEPT if k in row.get("metrics", {})}
    if numbers:
        found["metrics"] = numbers
    if row.get("audit"):
        found["audit"] = {
            task.partition(":")[0]: looks(counted) for task, counted in row["audit"].items()
        }
    return found


def looks(counted: Any) -> Any:
    """Return one look, or several, with numbers for keys."""
    several = counted if isinstance(counted, list) else [counted]
    plain = [{str(i): row for i, (_, row) in enumerate(sorted(one.items()))} for one in several]
    return plain if isinstance(counted, list) else plain[0]


if __name__ == "__main__":
    main()
