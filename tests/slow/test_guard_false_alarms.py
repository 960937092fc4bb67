"""How often the whole guard alarms on a run that stays where it was, and how its start is bounded.

pytest -m slow tests/slow/test_guard_false_alarms.py -s
"""

import sys

import numpy as np
import pytest
from scipy.stats import binom

from rewardable.guard import Audit, Guard, GuardConfig, Observation, PromptAudit
from rewardable.guard.anchor import Start

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

N, WAYS = 16, 5


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def policy(rng: np.random.Generator, prompts: int, shape: tuple[float, float]) -> np.ndarray:
    """Probabilities of every solution, prompt by prompt."""
    share = rng.dirichlet(np.ones(WAYS), prompts)
    return rng.beta(*shape, prompts)[:, None] * share


def audit(rng: np.random.Generator, p: np.ndarray) -> Audit:
    found = {}
    for i, row in enumerate(p):
        counts = rng.multinomial(N, [*row, max(0.0, 1 - row.sum())])[:-1]
        found[f"p{i}"] = PromptAudit(n=N, c=int(counts.sum()), distinct=int((counts > 0).sum()))
    return Audit(task="t", prompts=found)


@pytest.mark.parametrize("shape", [(1.2, 1.2), (0.3, 0.5)])
def test_a_run_that_stays_where_it_was(shape: tuple[float, float]) -> None:
    runs, looks, alpha = 60, 40, 0.2
    config = GuardConfig(alpha=alpha, warn_alpha=alpha, tolerated=0.0, looks=20)
    alarms = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        p = policy(rng, 24, shape)
        guard = Guard(config)
        guard.observe(Observation(step=0, audits=tuple(audit(rng, p) for _ in range(4))))
        states = [
            guard.observe(Observation(step=look, audits=(audit(rng, p),))).state
            for look in range(1, looks + 1)
        ]
        alarms += "act" in states
    say(f"{shape}: {alarms} of {runs} runs alarm over {looks} looks, alpha {alpha}")
    assert alarms <= binom.ppf(0.999, runs, alpha)


@pytest.mark.parametrize("shape", [(1.2, 1.2), (0.3, 0.5), (0.2, 4.0)])
@pytest.mark.parametrize("prompts", [16, 32])
def test_the_bound_of_the_start(shape: tuple[float, float], prompts: int) -> None:
    tail, runs = 0.01, 800
    rng = np.random.default_rng(11)
    missed = dict.fromkeys(("support", "trainability", "distinct"), 0)
    slack = dict.fromkeys(missed, 0.0)
    p = policy(rng, prompts, shape)
    rate = p.sum(1)
    truth = {
        "support": (1 - (1 - rate) ** 8).mean(),
        "trainability": (1 - (1 - rate) ** 8 - rate**8).mean(),
    }
    many = np.stack(
        [
            (rng.multinomial(N, np.column_stack([p, 1 - rate])) > 0)[:, :WAYS].sum(1)
            for _ in range(5000)
        ]
    )
    for _ in range(runs):
        start = Start.of([audit(rng, p) for _ in range(4)])
        for kind in missed:
            anchor = start.anchor(kind, N if kind == "distinct" else 8, 2 * tail)
            if kind == "distinct":
                order = [int(key[1:]) for key in anchor.keys]
                value = np.minimum(many[:, order], anchor.caps).mean() / anchor.unit
            else:
                value = truth[kind]
            missed[kind] += anchor.bound > value
            slack[kind] += 1 - anchor.bound / anchor.start
    for kind, count in missed.items():
        say(f"{shape} {prompts} prompts, {kind}: missed {count} of {runs}")
        say(f"  on average {slack[kind] / runs:.1%} below the estimate")
        assert count <= 2.0 * tail * runs + 10, kind
