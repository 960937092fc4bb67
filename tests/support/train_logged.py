"""A small real GRPO run of pocket with everything logged: ``train_logged.py OUT STEPS``.

Started by itself, or on several processes by ``torch.distributed.run``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accelerate import PartialState

from rewardable.records import SamplingSpec
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe
from rewardable.train.extras import Extras
from rewardable.train.grpo import run_grpo
from rewardable.train.logs import RolloutRecorder, StepMetrics
from rewardable.train.logs.book import LogBook
from rewardable.train.logs.callback import StepLog
from rewardable.train.logs.entropy import watch_entropy
from rewardable.train.logs.together import Together
from rewardable.workflows.sources import resolve_source

TASK = "countdown-steps:numbers=3,values=1-9,targets=5-30,split=train"
LENIENT = "countdown-steps:numbers=3,values=1-9,targets=5-30,split=train,policy=lenient"
SIZES = {"prompts_per_step": 4, "group_size": 4, "micro_batch": 4, "max_new_tokens": 24}
SPEC = SamplingSpec(max_new_tokens=24)


def train(
    out: Path, steps: int, more: Any = (), sizes: Mapping[str, Any] = SIZES, **trl: Any
) -> None:
    """Train; ``more`` are callbacks, ``sizes`` fields of the recipe, ``trl`` settings of TRL's."""
    cpu = PartialState(cpu=True)
    task = load_task(TASK)
    prompts = {prompt.key: prompt for prompt in task.prompts(16, 0)}
    run = Run.resume_or_create(out / "rollouts", {"kind": "training"})
    taps = [
        StepMetrics(lenient=load_task(LENIENT).verifier, prompts=prompts),
        RolloutRecorder(run, prompts, SPEC, run="test", template="raw"),
    ]
    with (out / f"seen-{cpu.process_index}.jsonl").open("a") as seen:

        def keep(batch: Any) -> dict[str, float]:
            rows = {"step": batch.step, "keys": batch.prompt_keys, "size": batch.group_size}
            seen.write(json.dumps(rows) + "\n")
            right = sum(batch.correct) / len(batch.correct)
            return {"own_share": right, "own_rank": float(cpu.process_index)}

        run_grpo(
            resolve_source("pocket"),
            task,
            GRPORecipe(steps=steps, save_every=1, train_prompts=16, trl=trl, **sizes),
            out,
            None,
            Extras(
                taps=(keep, Together(taps)),
                watches=(watch_entropy,),
                callbacks=(StepLog(LogBook(out, taps)), *more),
            ),
            tuple(prompts.values()),
        )


if __name__ == "__main__":
    train(Path(sys.argv[1]), int(sys.argv[2]))
