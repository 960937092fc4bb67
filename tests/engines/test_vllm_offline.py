"""The engine for vLLM in this process: equal to engines.hf, adapters, openings, seeds."""

from __future__ import annotations

import pytest

from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.errors import ConfigError
from rewardable.protocols import SampleRequest, ScoreRequest
from rewardable.records import FinishReason, SamplingSpec, user_prompt

PROMPTS = [user_prompt("t", "1", f"Write one sentence about the number {i}.") for i in range(4)]
SPEC = SamplingSpec(max_new_tokens=24, seed=3)
TOLD = ("vllm.enforce_eager=true", "vllm.max_model_len=512", "vllm.gpu_memory_utilization=0.3")
OPTIONS = EngineOptions(dtype="float32", arguments=TOLD)
LOGPROB = 2e-3


@pytest.fixture(scope="module")
def hf(smollm2):
    return open_engine(smollm2, EngineOptions(dtype="float32"))


@pytest.fixture(scope="module")
def offline(adapter):
    """One engine for all: the base with the adapter, since loading takes long."""
    engine = open_engine(f"vllm:{adapter}", OPTIONS)
    yield engine
    close_engine(engine)


@pytest.fixture(scope="module")
def merged(smollm2, adapter):
    return open_engine(smollm2, EngineOptions(dtype="float32", adapter=adapter))


def drawn(engine, n=6, **request):
    requests = [SampleRequest(prompt=p, indices=tuple(range(n)), **request) for p in PROMPTS]
    return {(row.id.prompt_key, row.id.index): row for row in engine.sample(requests, SPEC)}


def scores(engine, rows):
    prompts = {prompt.key: prompt for prompt in PROMPTS}
    requests = [
        ScoreRequest(
            id=str(i), prompt=prompts[row.id.prompt_key], token_ids=row.completion.token_ids
        )
        for i, row in enumerate(rows)
    ]
    found = {one.id: one.logprobs for one in engine.score(requests)}
    return [found[str(i)] for i in range(len(rows))]


def largest(left, right) -> float:
    return max(
        abs(a - b) for x, y in zip(left, right, strict=True) for a, b in zip(x, y, strict=True)
    )


def test_an_adapter_is_sampled_and_scored_as_hf_does(offline, merged, hf) -> None:
    rows = list(drawn(offline).values())
    assert len(rows) == 24
    given = [row.completion.logprobs for row in rows]
    assert largest(given, scores(merged, rows)) < LOGPROB
    assert largest(given, scores(offline, rows)) < LOGPROB
    assert largest(given, scores(hf, rows)) > 10 * LOGPROB
    assert all("".join(offline.pieces(r.completion.token_ids)) == r.completion.text for r in rows)


def test_the_policy_has_the_key_that_hf_gives_it(offline, merged) -> None:
    assert offline.policy.key == merged.policy.key
    assert offline.tokenizer_key == merged.tokenizer_key


def test_a_row_s_draw_depends_on_its_index_alone(offline) -> None:
    rows = drawn(offline)
    for row in offline.sample([SampleRequest(prompt=PROMPTS[2], indices=(1, 4, 5))], SPEC):
        same = rows[row.id.prompt_key, row.id.index]
        assert row.completion.token_ids == same.completion.token_ids


def test_openings_are_forced_and_scored(offline, merged) -> None:
    rows = list(drawn(offline, n=2, opening="The lucky ").values())
    assert all(row.completion.text.startswith("The lucky ") for row in rows)
    given = [row.completion.logprobs for row in rows]
    assert largest(given, scores(merged, rows)) < LOGPROB


def test_a_caller_that_stops_early_leaves_the_engine_usable(offline) -> None:
    rows = offline.sample([SampleRequest(prompt=p, indices=tuple(range(9))) for p in PROMPTS], SPEC)
    next(rows)
    rows.close()
    assert len(drawn(offline, n=1)) == 4


def test_what_does_not_fit_is_a_failed_row(offline) -> None:
    long = user_prompt("t", "1", "one two three " * 400)
    [row] = offline.sample([SampleRequest(prompt=long, indices=(0,))], SPEC)
    assert row.completion.finish_reason is FinishReason.FAILED


def test_unknown_arguments_are_errors_with_a_suggestion(smollm2) -> None:
    for told, message in (
        ("vllm.tensor_paralel_size=2", "Did you mean 'tensor_parallel_size'"),
        ("vllm.dtype=float16", "leave it out"),
    ):
        with pytest.raises(ConfigError, match=message):
            open_engine(f"vllm:{smollm2}", EngineOptions(arguments=(told,)))
