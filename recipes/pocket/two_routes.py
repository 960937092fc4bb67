r"""Do the two verifiers of the two-route world pull apart? GRPO on each, then look at the routes.

    python recipes/pocket/two_routes.py --out runs/two-routes --steps 60

Trains `pocket-routes` on `routes-math` and, apart, on `routes-instruction`, and prints for the
base and both: the share of direct answers without and with a constraint, and the success rates of
the mathematics, instruction and joint verifiers on held-out prompts. Figures are in README.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rewardable.engines import EngineOptions, open_engine
from rewardable.protocols import SampleRequest
from rewardable.records import Outcome, SamplingSpec
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, train_grpo
from rewardable.workflows.sources import resolve_source

TASKS = ("routes-math", "routes-instruction", "routes-joint")


def look(source: str, prompts: int, n: int) -> dict[str, float]:
    """Success rate and share of direct answers on every task."""
    engine = open_engine(source, EngineOptions())
    spec = SamplingSpec(max_new_tokens=40, seed=7)
    found: dict[str, float] = {}
    for name in TASKS:
        task = load_task(name)
        rows = {prompt.key: prompt for prompt in task.prompts(prompts, 11)}
        requests = [SampleRequest(prompt=p, indices=tuple(range(n))) for p in rows.values()]
        verdicts = [
            task.verifier.verify(rows[one.id.prompt_key], one.completion)
            for one in engine.sample(requests, spec)
        ]
        right = sum(one.outcome is Outcome.CORRECT for one in verdicts)
        direct = sum(one.labels.get("route") == "direct" for one in verdicts)
        found[f"{name} success"] = right / len(verdicts)
        found[f"{name} direct"] = direct / len(verdicts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("-n", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    base = resolve_source("pocket-routes")
    rows = {"base": look(base, args.prompts, args.n)}
    for name in TASKS[:2]:
        recipe = GRPORecipe(
            steps=args.steps,
            save_every=args.steps,
            learning_rate=2e-4,
            max_new_tokens=40,
            train_prompts=1024,
            seed=args.seed,
        )
        task = load_task(f"{name}:split=train")
        trained = train_grpo(base, task, recipe, args.out / name)[-1]
        rows[name] = look(str(trained), args.prompts, args.n)
    for name, figures in rows.items():
        print(name, {key: round(value, 3) for key, value in figures.items()})


if __name__ == "__main__":
    main()
