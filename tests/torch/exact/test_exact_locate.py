"""Access and execution from real samples of two policies, against the exact probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewardable.engines.forced import ForcedSampler, with_opening
from rewardable.locate.coverage_split import FamilyPool, PromptSample, split_coverage
from rewardable.locate.families import align, count_families, split_pass_at_1
from rewardable.protocols import SampleRequest
from rewardable.records import Outcome, SamplingSpec
from rewardable.tasks import load_task
from rewardable.workflows.demo import TASK

from .conftest import SEED, Studied

FORCED_P, FORCED_N, K = 8, 48, 24


def codes(base: Studied, sharp: Studied) -> dict[str, int]:
    names = {
        verdict.labels["entry"]
        for one in (base, sharp)
        for rows in one.graded
        for _, verdict in rows
        if "entry" in verdict.labels
    }
    listed = {each.entry for prompt in base.exact.prompts for each in prompt.texts}
    return {name: i for i, name in enumerate(sorted(names | listed))}


def families(one: Studied, code: dict[str, int]):
    rows = [(i, v) for i, graded in enumerate(one.graded) for _, v in graded]
    return count_families(
        [i for i, _ in rows],
        [code.get(v.labels.get("entry", ""), -1) for _, v in rows],
        [v.outcome is Outcome.CORRECT for _, v in rows],
        len(one.graded),
    )


def exact_parts(before: Any, after: Any) -> tuple[float, float]:
    access = execution = 0.0
    for entry in before.execution:
        a, b = before.access[entry], after.access[entry]
        e, f = before.execution[entry], after.execution[entry]
        access += (b - a) * (e + f) / 2
        execution += (f - e) * (a + b) / 2
    return access, execution


def test_the_split_of_pass_at_1_agrees_with_the_exact_parts(base: Studied, sharp: Studied):
    code = codes(base, sharp)
    split = split_pass_at_1(*align([families(base, code), families(sharp, code)]))
    pairs = zip(base.exact.prompts, sharp.exact.prompts, strict=True)
    truth = np.array([exact_parts(*pair) for pair in pairs])
    rates = np.array(sharp.exact.rates) - np.array(base.exact.rates)
    np.testing.assert_allclose(truth.sum(axis=1), rates, atol=1e-6)
    for part, values in ((0, split.access_P), (1, split.execution_P)):
        error_P = values - truth[:, part]
        z = error_P.mean() / (error_P.std(ddof=1) / np.sqrt(error_P.size))
        assert abs(z) < 3.5, (part, z)
    assert abs(truth[:, 0].mean()) > 0.02


def forced_pools(one: Studied) -> list[dict[str, FamilyPool]]:
    """Really force every entry of some prompts, and add the free rollouts that start it."""
    task = load_task(TASK)
    prompts = task.prompts(FORCED_P, 0)
    asked: dict[str, tuple[int, str]] = {}
    requests: list[SampleRequest] = []
    for i, prompt in enumerate(prompts):
        for entry in one.exact.prompts[i].access:
            given = with_opening(prompt, entry)
            asked[given.key] = (i, entry)
            requests.append(SampleRequest(prompt=given, indices=tuple(range(FORCED_N))))
    found: list[dict[str, list[str | None]]] = [{} for _ in prompts]
    spec = SamplingSpec(max_new_tokens=48, seed=SEED + 1)
    for rollout in ForcedSampler(inner=one.engine).sample(requests, spec):
        i, entry = asked[rollout.id.prompt_key]
        assert rollout.completion.text.startswith(entry)
        verdict = task.verifier.verify(prompts[i], rollout.completion)
        found[i].setdefault(entry, []).append(verdict.labels.get("solution"))
    for i in range(FORCED_P):
        for _, verdict in one.graded[i]:
            entry = verdict.labels.get("entry")
            if entry in found[i]:
                found[i][entry].append(verdict.labels.get("solution"))
    return [{entry: pool(solutions) for entry, solutions in each.items()} for each in found]


def pool(solutions: list[str | None]) -> FamilyPool:
    names, counts = np.unique([one for one in solutions if one is not None], return_counts=True)
    found = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return FamilyPool(size=len(solutions), found=found)


def samples(one: Studied, code: dict[str, int]) -> list[PromptSample]:
    result: list[PromptSample] = []
    for i, pools in enumerate(forced_pools(one)):
        started: dict[int, int] = {}
        for _, verdict in one.graded[i]:
            entry = verdict.labels.get("entry")
            if entry is not None:
                started[code[entry]] = started.get(code[entry], 0) + 1
        coded = {code[entry]: each for entry, each in pools.items()}
        result.append(PromptSample(n=len(one.graded[i]), started=started, pools=coded))
    return result


def exact_coverage(access: Any, execution: Any, k: int) -> float:
    """Coverage at k when one policy chooses the entries and another goes on from them."""
    share: dict[str, float] = {}
    for each in execution.texts:
        given = np.exp(each.logprob - each.start_logprob)
        mass = access.access[each.entry] * given
        share[each.solution] = share.get(each.solution, 0.0) + float(mass)
    found = sum(1 - (1 - mass) ** k for mass in share.values())
    return found / execution.totals["solution"]


def test_the_split_of_coverage_agrees_with_the_exact_swapped_values(base: Studied, sharp: Studied):
    code = codes(base, sharp)
    sides = samples(base, code), samples(sharp, code)
    totals = [prompt.totals["solution"] for prompt in base.exact.prompts[:FORCED_P]]
    split = split_coverage(*sides, totals, K, seed=SEED)
    both = base.exact.prompts, sharp.exact.prompts
    truth = np.array(
        [
            [[exact_coverage(both[a][i], both[e][i], K) for e in (0, 1)] for a in (0, 1)]
            for i in range(FORCED_P)
        ]
    )
    error = (split.value_P2x2 - truth).reshape(FORCED_P, 4)
    z = error.mean(axis=0) / (error.std(axis=0, ddof=1) / np.sqrt(FORCED_P))
    assert np.abs(z).max() < 4.5, z
    assert np.abs(error.mean(axis=0)).max() < 0.03
    exact_change = truth[:, 1, 1] - truth[:, 0, 0]
    assert abs(split.change_P.mean() - exact_change.mean()) < 0.03
