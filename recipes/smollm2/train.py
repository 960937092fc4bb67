"""GRPO on easy word problems for a few dozen steps, from SmolLM2-135M-Instruct.

python recipes/smollm2/train.py --base models/smollm2 --out runs/smollm2-grpo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, StepReport, train_grpo


def tell(report: StepReport) -> None:
    print(
        f"step {report.step}/{report.total} reward {report.reward:.3f} {report.seconds:.0f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--task", default="word-problems:split=train,steps=1,values=2-6")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    recipe = GRPORecipe(
        steps=args.steps,
        prompts_per_step=6,
        group_size=8,
        learning_rate=1e-5,
        max_new_tokens=32,
        temperature=0.6,
        train_prompts=100,
        save_every=args.steps,
        micro_batch=24,
        bf16=True,
        seed=args.seed,
    )
    for path in train_grpo(args.base, load_task(args.task), recipe, args.out, tell):
        print(path)


if __name__ == "__main__":
    main()
