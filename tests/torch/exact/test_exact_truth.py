"""The exact truth of the pocket policy, against the verifier and against real rollouts."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.protocols import ScoreRequest
from rewardable.records import FinishReason, Outcome
from rewardable.tasks import load_task
from rewardable.tasks.countdown import accepted_texts
from rewardable.workflows.demo import TASK
from rewardable.workflows.exact import exact_policy, exact_truth


def test_every_correct_rollout_is_listed_with_its_log_prob_and_labels(base: Any) -> None:
    correct, seen = 0, set()
    for prompt, judged in zip(base.exact.prompts, base.graded, strict=True):
        by_text = {each.text: each for each in prompt.texts}
        for rollout, verdict in judged:
            if verdict.outcome is not Outcome.CORRECT:
                assert rollout.completion.text not in by_text
                continue
            correct += 1
            exact = by_text[rollout.completion.text]
            assert rollout.completion.finish_reason is FinishReason.STOP
            assert math.fsum(rollout.completion.logprobs) == pytest.approx(exact.logprob, abs=1e-3)
            assert dict(verdict.labels) == {"solution": exact.solution, "entry": exact.entry}
            seen.add((prompt.key, exact.text))
    assert correct > 500
    assert len(seen) > 200


@pytest.mark.parametrize("which", ["base", "sharp"])
def test_accepted_mass_is_the_share_of_successes(which: str, request: Any) -> None:
    studied = request.getfixturevalue(which)
    p = np.array(studied.exact.rates)
    assert (p > 0).all()
    assert (p < 1).all()
    n = studied.sample.success_PN.shape[1]
    z_P = (studied.sample.c_P - n * p) / np.sqrt(n * p * (1 - p))
    assert abs(z_P.sum() / np.sqrt(z_P.size)) < 3.5
    assert abs(((z_P**2).sum() - z_P.size) / np.sqrt(2 * z_P.size)) < 3.5


def test_masses_add_up_and_totals_are_the_tasks(base: Any) -> None:
    prompts = load_task(TASK).prompts(len(base.exact.prompts), 0)
    for prompt, exact in zip(prompts, base.exact.prompts, strict=True):
        assert exact.totals == prompt.facts["totals"]
        for kind in ("solution", "entry"):
            assert math.fsum(exact.masses(kind).values()) == pytest.approx(exact.rate)
        access, execution = exact.access, exact.execution
        assert sum(access.values()) < 1 + 1e-6
        assert all(0 < value <= 1 + 1e-6 for value in execution.values())
        assert math.fsum(access[f] * execution[f] for f in access) == pytest.approx(exact.rate)


def test_access_is_the_share_of_rollouts_that_start_so(base: Any) -> None:
    z = []
    for prompt, judged in zip(base.exact.prompts, base.graded, strict=True):
        starts = [verdict.labels.get("entry") for _, verdict in judged]
        for entry, p in prompt.access.items():
            if 0.05 < p < 0.95:
                z.append(
                    (starts.count(entry) - len(starts) * p) / np.sqrt(len(starts) * p * (1 - p))
                )
    assert len(z) > 40
    assert np.max(np.abs(z)) < 4
    assert 0.6 < np.mean(np.square(z)) < 1.5


def test_padding_inside_a_text_has_no_mass_to_speak_of(base: Any) -> None:
    """Texts are scored with one spelling; the only other spellings hold the padding token."""
    prompt = load_task(TASK).prompts(1, 0)[0]
    loaded = base.engine.loaded
    ids = base.engine.encode(prompt, base.exact.prompts[0].texts[0].text)
    requests = [
        ScoreRequest(id=str(i), prompt=prompt, token_ids=(*ids[:i], loaded.tokenizer.pad_token_id))
        for i in range(len(ids))
    ]
    masses = [math.exp(each.logprobs[-1]) for each in base.engine.score(requests)]
    assert len(masses) == len(ids) > 15
    assert sum(masses) < 1e-4
    assert loaded.eos_ids == {loaded.tokenizer.eos_token_id}


def test_what_contradicts_itself_is_refused(base: Any) -> None:
    task = load_task(TASK)
    prompt = task.prompts(1, 0)[0]
    listed = accepted_texts(task.verifier, prompt)
    with pytest.raises(DataError, match="no prompts"):
        exact_policy(base.engine, [], lambda _: listed)
    with pytest.raises(DataError, match="listed twice"):
        exact_policy(base.engine, [prompt], lambda _: [*listed, listed[0]])
    with pytest.raises(DataError, match="where its entry"):
        exact_policy(base.engine, [prompt], lambda _: [replace(listed[0], entry="77*")])
    certain = SimpleNamespace(
        policy=base.engine.policy,
        encode=base.engine.encode,
        pieces=base.engine.pieces,
        score=lambda asked: (
            SimpleNamespace(id=each.id, logprobs=(0.0,) * len(each.token_ids)) for each in asked
        ),
    )
    with pytest.raises(DataError, match="at most 1"):
        exact_policy(certain, [prompt], lambda _: listed)  # pyright: ignore[reportArgumentType]


def test_a_prompt_without_accepted_text(base: Any) -> None:
    found = exact_policy(base.engine, load_task(TASK).prompts(1, 0), lambda _: [])
    assert found.rates == (0.0,)
    assert found.pass_at(64) == 0
    assert math.isnan(found.coverage("solution", 8))
    assert math.isnan(found.polarisation)


def test_policy_and_task_by_name(base: Any, tmp_path: Path) -> None:
    assert exact_truth("pocket", TASK, 2).prompts == base.exact.prompts[:2]
    with pytest.raises(ConfigError, match="cannot be listed"):
        exact_truth("pocket", "word-problems", 1)
    with pytest.raises(ConfigError, match="cannot be listed"):
        exact_truth("pocket", "countdown", 1)
    fake = tmp_path / "fake.json"
    fake.write_text('{"table": {"*": {"right": 1.0}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match="no tokenizer"):
        exact_truth(f"fake:{fake}", TASK, 1)
