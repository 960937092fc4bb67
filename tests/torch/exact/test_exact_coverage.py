"""How often intervals over prompts contain the truth of a real population of instances.

The population is 160 instances with the exact law of the pocket policy on each; a study draws 32 of
them with replacement and 64 rollouts of each from that law.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rewardable.engines import EngineOptions, open_engine
from rewardable.metrics import (
    count_labels,
    coverage,
    curve_band,
    mean_interval,
    pass_at_k,
    polarisation,
    trainability,
)
from rewardable.tasks import load_task
from rewardable.tasks.countdown import accepted_texts
from rewardable.workflows.demo import TASK
from rewardable.workflows.exact import ExactPolicy, exact_policy
from rewardable.workflows.sources import resolve_source

SEED = 20261202
POPULATION, M, N, STUDIES = 160, 32, 64, 400
BUDGETS = [1, 2, 4, 8, 16]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def population() -> ExactPolicy:
    task = load_task(TASK)
    engine: Any = open_engine(resolve_source("pocket"), EngineOptions(device="cpu"))
    texts = partial(accepted_texts, task.verifier)
    return exact_policy(engine, task.prompts(POPULATION, 1), texts)


def draw(population: ExactPolicy, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return (solution codes [M, N] with -1 for no success, totals [M])."""
    chosen = [population.prompts[i] for i in rng.integers(0, POPULATION, M)]
    codes = []
    for prompt in chosen:
        mass = np.array(list(prompt.masses("solution").values()))
        at = np.searchsorted(np.cumsum(mass), rng.random(N), side="right")
        codes.append(np.where(at < mass.size, at, -1))
    return np.array(codes), np.array([prompt.totals["solution"] for prompt in chosen])


def test_intervals_over_prompts_cover_as_they_say(population: ExactPolicy) -> None:
    truth = {f"pass@{k}": population.pass_at(k) for k in (1, 16)}
    truth |= {"U_8": population.trainability(8), "coverage@16": population.coverage("solution", 16)}
    truth |= {"polarisation": population.polarisation}
    curve = np.array([population.pass_at(k) for k in BUDGETS])
    held = dict.fromkeys([*truth, "band"], 0)
    rng = np.random.default_rng(SEED)
    for _ in range(STUDIES):
        code_MN, total_M = draw(population, rng)
        c_M = (code_MN >= 0).sum(axis=1)
        seen = count_labels(np.repeat(np.arange(M), N), code_MN.reshape(-1), M)
        found = {f"pass@{k}": mean_interval(pass_at_k(N, c_M, k)) for k in (1, 16)}
        found["U_8"] = mean_interval(trainability(N, c_M, 8))
        found["coverage@16"] = mean_interval(coverage(seen, total_M, np.full(M, N), 16))
        found["polarisation"] = polarisation(np.full(M, N), c_M)
        for name, interval in found.items():
            held[name] += interval.low <= truth[name] <= interval.high
        band = curve_band(pass_at_k(N, c_M, BUDGETS), draws=1000)
        held["band"] += bool(((band.low_K <= curve) & (curve <= band.high_K)).all())
    shares = {name: count / STUDIES for name, count in held.items()}
    least = 0.95 - 3 * np.sqrt(0.95 * 0.05 / STUDIES)
    assert {name: share for name, share in shares.items() if share < least} == {}
