r"""Train the pocket policy by every method, and look at every checkpoint with fresh samples.

    python recipes/preserve/campaign.py --out runs/preserve --methods plain balanced --seeds 0 1

Each run is `OUT/METHOD-SEED`: checkpoints, metrics.jsonl, guard.jsonl (looks, no actions) and
truth.json, which holds for each checkpoint n and c and distinct solutions of 48 held-out prompts
x 64 samples on the trained task and on a task that comes later. Runs that are there are left.
Figures are in docs/preserving.md and docs/LOG.md; `curves.py` draws them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

from rewardable.engines import EngineOptions, open_engine
from rewardable.protocols import SampleRequest
from rewardable.records import Outcome, SamplingSpec
from rewardable.tasks import load_task
from rewardable.train.series import checkpoints, step_of
from rewardable.workflows.sequence.plan import merged
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training import read_file, train, train_plan, train_staged

HERE = Path(__file__).parent
TASKS = ("countdown-steps", "countdown-steps-start")
OPTIONS = "numbers=4,values=1-10,targets=10-50,min_solutions=4,max_solutions=12,split=test"
PROMPTS, N, SEED = 48, 64, 77


def looked(source: str) -> dict[str, Any]:
    """Return task -> prompt -> [n graded, c, distinct solutions, solutions that exist]."""
    engine = open_engine(source, EngineOptions())
    spec = SamplingSpec(max_new_tokens=48, seed=SEED)
    found: dict[str, Any] = {}
    for name in TASKS:
        task = load_task(f"{name}:{OPTIONS}")
        prompts = {prompt.key: prompt for prompt in task.prompts(PROMPTS, SEED)}
        requests = [SampleRequest(prompt=p, indices=tuple(range(N))) for p in prompts.values()]
        graded = dict.fromkeys(prompts, 0)
        right: dict[str, list[str]] = {key: [] for key in prompts}
        for one in engine.sample(requests, spec):
            verdict = task.verifier.verify(prompts[one.id.prompt_key], one.completion)
            graded[one.id.prompt_key] += verdict.outcome is not Outcome.UNGRADED
            if verdict.outcome is Outcome.CORRECT:
                right[one.id.prompt_key].append(verdict.labels["solution"])
        found[name] = {
            key: [graded[key], len(right[key]), len(set(right[key])),
                  int(prompts[key].facts["totals"]["solution"])]
            for key in prompts
        }  # fmt: skip
    return found


def one(out: Path, method: str, seed: int) -> None:
    if (out / "truth.json").is_file():
        return
    file = read_file(HERE / "methods.toml")
    tables = merged(file["common"], file["methods"][method])
    if tables.get("method") == "ppo":
        del tables["guard"]  # PPO has no callbacks
    start = time.perf_counter()
    if tables.pop("staged", False):
        del tables["guard"]
        rounds = train_staged(out, tables, seed=seed).checkpoints
        ends = list(itertools.accumulate(map(step_of, rounds)))
        series = dict(zip(ends, map(str, rounds), strict=True))
    else:
        train(out, train_plan(tables, seed=seed))
        series = {step_of(path): str(path) for path in checkpoints(out)}
    trained = time.perf_counter() - start
    series = {0: resolve_source(tables["policy"])} | series
    truth = {"method": method, "seed": seed, "seconds": trained,
             "series": {step: looked(source) for step, source in series.items()}}  # fmt: skip
    (out / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    print(method, seed, f"{trained:.0f} s", summary(truth), flush=True)


def summary(truth: dict[str, Any]) -> str:
    """pass@1 and coverage on the trained task at each checkpoint."""
    parts = []
    for step, tasks in truth["series"].items():
        rows = tasks[TASKS[0]].values()
        p = sum(c / n for n, c, _, _ in rows) / len(rows)
        coverage = sum(d / total for _, _, d, total in rows) / len(rows)
        parts.append(f"{step}: {p:.2f}/{coverage:.2f}")
    return " ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    for seed in args.seeds:
        for method in args.methods:
            one(args.out / f"{method}-{seed}", method, seed)


if __name__ == "__main__":
    main()
