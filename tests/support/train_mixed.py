"""A small real GRPO run of pocket with everything mixed in: ``train_mixed.py OUT STEPS``.

Started by itself, or on several processes by ``torch.distributed.run``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from accelerate import PartialState

from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, StepReport
from rewardable.train.grpo import run_grpo
from rewardable.train.mix import DistillMix, MixConfig, ReplayConfig
from rewardable.train.mix.build import build_terms
from rewardable.train.rows import gold_rows
from rewardable.workflows.sources import resolve_source

POCKET = resolve_source("pocket")
TASK = "countdown-steps:numbers=3,values=1-9,targets=5-30,split=train"
OTHER = "countdown-steps-start:numbers=3,values=1-9,targets=5-30,split=train"
RECIPE = {
    "prompts_per_step": 4, "group_size": 4, "micro_batch": 4, "max_new_tokens": 24,
    "learning_rate": 3e-4,
}  # fmt: skip


def train(out: Path, steps: int) -> list[Path]:
    """Train with all three sources and distillation; the numbers of each step go to a file."""
    cpu = PartialState(cpu=True)
    task = load_task(TASK)
    prompts = task.prompts(16, 0)
    buffer = ReplayConfig(rare_share=1.0)
    distill = DistillMix(teacher=POCKET, rows=2, every=2, max_new_tokens=24)
    mix = MixConfig(buffer=buffer, distill=distill)
    rows = gold_rows(task, prompts, 2, 0)
    others = load_task(OTHER).prompts(8, 0)
    added = build_terms(mix, prompts=prompts, rows=rows, other_prompts=others)
    recipe = GRPORecipe(steps=steps, save_every=2, train_prompts=16, **RECIPE)
    with (out / f"numbers-{cpu.process_index}.jsonl").open("a") as file:

        def tell(report: StepReport) -> None:
            file.write(json.dumps({"step": report.step, **report.numbers}) + "\n")

        return run_grpo(POCKET, task, recipe, out, tell, added)


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]))
