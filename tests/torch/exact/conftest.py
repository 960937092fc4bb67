"""The pocket policy, a sharpened copy, their exact truth and real samples of both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rewardable.engines import EngineOptions, open_engine
from rewardable.protocols import SampleRequest
from rewardable.records import Outcome, Rollout, SamplingSpec, Verdict
from rewardable.tasks import load_task
from rewardable.tasks.countdown import accepted_texts
from rewardable.workflows.demo import TASK
from rewardable.workflows.exact import ExactPolicy, exact_policy
from rewardable.workflows.sources import resolve_source

SEED = 20261201
"""Chosen before the first run; the draws and so the tests are the same ever after."""
P, N = 24, 96
SHARPER = 3.0
"""The copy's logits are the base's times this: a temperature below 1, as weights."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Labels of rollouts: the place of the accepted text's solution or entry, -1 for no success."""

    solution_PN: np.ndarray
    entry_PN: np.ndarray

    @property
    def success_PN(self) -> np.ndarray:
        return self.solution_PN >= 0

    @property
    def c_P(self) -> np.ndarray:
        return self.success_PN.sum(axis=1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Studied:
    """A policy with its truth, its rollouts with verdicts, and the labels of these."""

    engine: Any
    exact: ExactPolicy
    graded: list[list[tuple[Rollout, Verdict]]]
    sample: Sample

    def simulate(self, rng: np.random.Generator) -> Sample:
        """Draw as many rollouts from the exact law."""
        solution, entry = np.full((P, N), -1), np.full((P, N), -1)
        for i, prompt in enumerate(self.exact.prompts):
            mass = np.exp([each.logprob for each in prompt.texts])
            at = np.searchsorted(np.cumsum(mass), rng.random(N), side="right")
            solution[i], entry[i] = (codes[at] for codes in text_codes(prompt))
        return Sample(solution_PN=solution, entry_PN=entry)


def text_codes(prompt: Any) -> tuple[np.ndarray, np.ndarray]:
    """Codes of each accepted text's solution and entry; one more, -1, for no success."""
    return tuple(
        np.append(np.unique(names, return_inverse=True)[1].reshape(-1), -1)
        for names in (
            [each.solution for each in prompt.texts],
            [each.entry for each in prompt.texts],
        )
    )  # pyright: ignore[reportReturnType]


def label(prompt: Any, judged: list[tuple[Rollout, Verdict]]) -> tuple[np.ndarray, np.ndarray]:
    place = {each.text: i for i, each in enumerate(prompt.texts)}
    at = [
        place[rollout.completion.text] if verdict.outcome is Outcome.CORRECT else -1
        for rollout, verdict in judged
    ]
    solution, entry = text_codes(prompt)
    return solution[at], entry[at]


def study(source: str) -> Studied:
    engine: Any = open_engine(source, EngineOptions(device="cpu"))
    task = load_task(TASK)
    prompts = task.prompts(P, 0)
    exact = exact_policy(engine, prompts, partial(accepted_texts, task.verifier))
    requests = [SampleRequest(prompt=prompt, indices=tuple(range(N))) for prompt in prompts]
    graded: dict[str, list[tuple[Rollout, Verdict]]] = {prompt.key: [] for prompt in prompts}
    by_key = {prompt.key: prompt for prompt in prompts}
    for rollout in engine.sample(requests, SamplingSpec(max_new_tokens=48, seed=SEED)):
        key = rollout.id.prompt_key
        graded[key].append((rollout, task.verifier.verify(by_key[key], rollout.completion)))
    rows = [sorted(graded[prompt.key], key=lambda each: each[0].id.index) for prompt in prompts]
    labels = [label(*each) for each in zip(exact.prompts, rows, strict=True)]
    solution, entry = (np.stack(part) for part in zip(*labels, strict=True))
    sample = Sample(solution_PN=solution, entry_PN=entry)
    return Studied(engine=engine, exact=exact, graded=rows, sample=sample)


@pytest.fixture(scope="session")
def base() -> Studied:
    torch.set_num_threads(1)
    return study(resolve_source("pocket"))


@pytest.fixture(scope="session")
def sharp(base: Studied, tmp_path_factory: pytest.TempPathFactory) -> Studied:
    """A second real policy: the pocket base with its last norm scaled up."""
    folder: Path = tmp_path_factory.mktemp("sharp")
    loaded: Any = base.engine.loaded
    norm = loaded.model.model.norm.weight
    before = norm.detach().clone()
    with torch.no_grad():
        norm.mul_(SHARPER)
        loaded.model.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        norm.copy_(before)
    return study(str(folder))


@pytest.fixture(scope="session")
def simulated(base: Studied, sharp: Studied) -> list[tuple[Sample, Sample]]:
    """Replicates of both samples, drawn from the exact laws."""
    rng = np.random.default_rng(SEED)
    return [(base.simulate(rng), sharp.simulate(rng)) for _ in range(100)]


@pytest.fixture(scope="session")
def rates(base: Studied, sharp: Studied) -> tuple[np.ndarray, np.ndarray]:
    return np.array(base.exact.rates), np.array(sharp.exact.rates)
