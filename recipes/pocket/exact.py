r"""The exact truth of pocket policies on the demonstration's held-out instances.

    python recipes/pocket/exact.py pocket
    python recipes/pocket/exact.py pocket runs/demo-0/train/checkpoint-50 \
        runs/demo-0/train/checkpoint-100

Every accepted text is scored, so nothing here is an estimate: set it beside what `rewardable demo`
found from samples. Intervals there cover other prompts too; these are means over the 64 at hand.
"""

from __future__ import annotations

import argparse
import time

import torch

from rewardable.workflows.demo import FUTURE_TASK, TASK
from rewardable.workflows.exact import ExactPolicy, exact_truth


def figures(exact: ExactPolicy) -> dict[str, float]:
    """Return what the table shows."""
    return {
        "pass@1": exact.pass_at(1),
        "pass@64": exact.pass_at(64),
        "support@64": exact.support_at(64),
        "coverage@64": exact.coverage("solution", 64),
        "families@64": exact.coverage("entry", 64),
        "U_8": exact.trainability(8),
        "polarisation": exact.polarisation,
        "least p": min(exact.rates),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sources", nargs="+", help="pocket, or folders of checkpoints")
    parser.add_argument("--prompts", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name, spec in (("trained task", TASK), ("future task", FUTURE_TASK)):
        print(f"{name}: {args.prompts} instances")
        for source in args.sources:
            start = time.perf_counter()
            exact = exact_truth(source, spec, args.prompts)
            row = "  ".join(f"{key} {value:.4g}" for key, value in figures(exact).items())
            seconds = time.perf_counter() - start
            print(f"  {source}: {row}  ({exact.scored_tokens} tokens, {seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
