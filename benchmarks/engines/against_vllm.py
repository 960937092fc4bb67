"""Tokens per second of the whole pipeline on vLLM against raw ``LLM.generate``, in one run.

    python benchmarks/engines/against_vllm.py --model FOLDER --prompts 32 --n 16 --tokens 128

One ``LLM`` serves both sides, which take turns on the same prompts at temperature 1. The raw side
draws text alone: no seeds, no log-probs, nothing kept. The pipeline draws with a seed a row and
log-probs, writes every rollout to a run folder, and grades all of them: its clock stops when the
last verdict is stored. The prefix cache is emptied before every turn.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from vllm import SamplingParams, TokensPrompt

from rewardable.collect import generate, grade
from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.protocols import SampleRequest
from rewardable.records import SamplingSpec
from rewardable.store import Run
from rewardable.tasks import load_task


def raw(engine: Any, prompts: list[Any], n: int, tokens: int) -> tuple[int, float]:
    """Return tokens and seconds of ``LLM.generate``."""
    params = SamplingParams(n=n, temperature=1.0, max_tokens=tokens)
    inputs = [TokensPrompt(prompt_token_ids=engine.encoder.ids(prompt)) for prompt in prompts]
    start = time.perf_counter()
    outputs = engine.loaded.llm.generate(inputs, params, use_tqdm=False)
    seconds = time.perf_counter() - start
    return sum(len(one.token_ids) for output in outputs for one in output.outputs), seconds


def pipeline(engine: Any, task: Any, prompts: list[Any], n: int, tokens: int, seed: int):
    """Return tokens and seconds of drawing, storing and grading."""
    spec = SamplingSpec(max_new_tokens=tokens, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder) / "run", {})
        start = time.perf_counter()
        run.add_prompts(prompts)
        run.add_specs([spec])
        run.add_policies([engine.policy])
        report = generate(engine, prompts, n, spec, run)
        graded = grade(task.verifier, prompts, run)
        seconds = time.perf_counter() - start
    assert report.n_done == graded.n_graded + graded.n_ungraded == n * len(prompts)
    return report.tokens, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--task", default="constraints")
    parser.add_argument("--prompts", type=int, default=32)
    parser.add_argument("--n", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine-arg", action="append", default=[])
    args = parser.parse_args()
    engine: Any = open_engine(f"vllm:{args.model}", EngineOptions(arguments=tuple(args.engine_arg)))
    task = load_task(args.task)
    prompts = list(task.prompts(args.prompts, 0))
    warm = [SampleRequest(prompt=prompt, indices=(0,)) for prompt in prompts]
    list(engine.sample(warm, SamplingSpec(max_new_tokens=8)))
    ratios: list[float] = []
    for turn in range(args.rounds):
        speeds: dict[str, float] = {}
        for side in ("raw", "pipeline") if turn % 2 else ("pipeline", "raw"):
            engine.loaded.llm.reset_prefix_cache()
            tokens, seconds = (
                raw(engine, prompts, args.n, args.tokens)
                if side == "raw"
                else pipeline(engine, task, prompts, args.n, args.tokens, turn)
            )
            speeds[side] = tokens / seconds
            print(f"round {turn + 1} {side}: {tokens} tokens in {seconds:.1f} s", flush=True)
        ratios.append(speeds["pipeline"] / speeds["raw"])
        print(f"round {turn + 1}: {ratios[-1]:.3f} of raw LLM.generate", flush=True)
    print(f"median of {len(ratios)}: {statistics.median(ratios):.3f}")
    close_engine(engine)


if __name__ == "__main__":
    main()
