"""After how many looks a fall is acted on: simulated audits, real bounds and bets.

    python benchmarks/guard/power.py [--runs 60] [--prompts 16 32] [--rollouts 16 32]

A fall takes place at once, before the first look, and stays. ``thin``: success rates fall so that
true support@8 is the given share below the start. ``alike``: the solutions of every prompt but the
most frequent ones are lost until the expected distinct solutions within n are that share below,
while success stays. Written: looks until half, and 95 %, of the runs act; "-" beyond 12.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from rewardable.guard import Audit, GuardConfig, PromptAudit
from rewardable.guard.anchor import Kind, Start
from rewardable.guard.audits import _SHARE
from rewardable.guard.watch import Purse, look_weight

LOOKS = 12


def policy(rng, prompts):
    return [rng.beta(1.2, 1.2) * rng.dirichlet(np.ones(rng.integers(2, 9))) for _ in range(prompts)]


def audit(rng, solutions, n):
    found = {}
    for i, p in enumerate(solutions):
        counts = rng.multinomial(n, [*p, max(0.0, 1 - p.sum())])[:-1]
        found[f"p{i:03d}"] = PromptAudit(n=n, c=int(counts.sum()), distinct=int((counts > 0).sum()))
    return Audit(task="t", prompts=found)


def thinned(solutions, strength):
    return [p * np.exp(-strength) for p in solutions]


def alike(solutions, strength):
    return [p.sum() * p ** (1 + strength) / (p ** (1 + strength)).sum() for p in solutions]


def support(solutions, n):
    return np.mean([1 - (1 - p.sum()) ** 8 for p in solutions])


def distinct(solutions, n):
    return np.mean([(1 - (1 - p) ** n).sum() for p in solutions])


def after(
    solutions, fall: float, n: int, moved: Callable, value: Callable
) -> list[np.ndarray] | None:
    """Bisect for the strength that makes the fall; None where it cannot be reached."""
    goal = (1 - fall) * value(solutions, n)
    low, high = 0.0, 40.0
    if value(moved(solutions, high), n) > goal:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if value(moved(solutions, middle), n) > goal else (low, middle)
    return moved(solutions, high)


def looks_needed(kind: Kind, prompts: int, n: int, fall: float, runs: int) -> list[int]:
    config, found = GuardConfig(), []
    moved, value = (thinned, support) if kind == "support" else (alike, distinct)
    for seed in range(runs):
        rng = np.random.default_rng([seed, prompts, n])
        base = policy(rng, prompts)
        fallen = after(base, fall, n, moved, value)
        if fallen is None:
            continue
        start = Start.of([audit(rng, base, n) for _ in range(4)])
        size = 8 if kind == "support" else n
        anchor, purse = start.anchor(kind, size, config.alpha * _SHARE[kind]), Purse()
        m = anchor.bound * (1 - config.tolerated)
        needed = LOOKS + 1
        for look in range(1, LOOKS + 1):
            blocks = anchor.blocks(audit(rng, fallen, n))
            purse.bet(blocks, m, anchor, look_weight(look, config.looks))
            if purse.e_value >= 1 / anchor.alpha:
                needed = look
                break
        found.append(needed)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--prompts", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--rollouts", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--falls", type=float, nargs="+", default=[0.15, 0.25, 0.4, 0.6])
    args = parser.parse_args()
    print("signal     prompts  rollouts  " + "  ".join(f"fall {f:4.0%}" for f in args.falls))
    for kind in ("support", "distinct"):
        for prompts in args.prompts:
            for n in args.rollouts:
                cells = []
                for fall in args.falls:
                    found = looks_needed(kind, prompts, n, fall, args.runs)
                    parts = [
                        np.quantile(found, q, method="higher") if found else 99 for q in (0.5, 0.95)
                    ]
                    cells.append(" / ".join(str(x) if x <= LOOKS else "-" for x in parts))
                print(
                    f"{kind:<10} {prompts:>7} {n:>9}  " + "  ".join(f"{c:>9}" for c in cells),
                    flush=True,
                )


if __name__ == "__main__":
    main()
