"""The engine for servers against a real vLLM server: equal to engines.hf, and unkillable."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.errors import ConfigError
from rewardable.protocols import SampleRequest, ScoreRequest, TokenReader
from rewardable.records import FinishReason, Rollout, SamplingSpec, user_prompt
from rewardable.store import Run
from rewardable.workflows.audit import audit
from rewardable.workflows.config import RunConfig
from rewardable.workflows.locate import locate
from rewardable.workflows.locating.config import LocateConfig, look_of
from rewardable.workflows.sources import resolve_source

PROMPTS = [user_prompt("t", "1", f"Write one sentence about the number {i}.") for i in range(4)]
SPEC = SamplingSpec(max_new_tokens=24, seed=3)
F32 = EngineOptions(dtype="float32")
LOGPROB = 2e-3
"""Nats: float32 on both sides, other kernels."""


@pytest.fixture(scope="module")
def hf(smollm2):
    return open_engine(smollm2, F32)


@pytest.fixture
def served(server):
    engine = open_engine(server.source)
    yield engine
    close_engine(engine)


def drawn(engine, n=6, opening="", prompts=PROMPTS) -> dict[tuple[str, int], Rollout]:
    requests = [
        SampleRequest(prompt=prompt, indices=tuple(range(n)), opening=opening) for prompt in prompts
    ]
    return {(row.id.prompt_key, row.id.index): row for row in engine.sample(requests, SPEC)}


def apart(engine, rows) -> float:
    """Return the largest difference between the rows' log-probs and the engine's scores."""
    prompts = {prompt.key: prompt for prompt in PROMPTS}
    requests = [
        ScoreRequest(
            id=str(i), prompt=prompts[row.id.prompt_key], token_ids=row.completion.token_ids
        )
        for i, row in enumerate(rows)
    ]
    found = {one.id: one.logprobs for one in engine.score(requests)}
    return max(
        abs(a - b)
        for i, row in enumerate(rows)
        for a, b in zip(row.completion.logprobs, found[str(i)], strict=True)
    )


def test_samples_have_ids_logprobs_and_the_log_probs_of_hf(served, hf) -> None:
    rows = drawn(served)
    assert len(rows) == 24
    assert all(row.completion.logprobs and row.completion.token_ids for row in rows.values())
    assert len({row.completion.text for row in rows.values()}) > 20
    some = list(rows.values())[:8]
    assert apart(hf, some) < LOGPROB
    assert apart(served, some) < LOGPROB
    for row in some:
        shown = served.pieces(row.completion.token_ids)
        assert "".join(shown) == row.completion.text


def test_a_row_s_draw_depends_on_its_index_alone(served) -> None:
    rows = drawn(served, n=6)
    alone = served.sample([SampleRequest(prompt=PROMPTS[1], indices=(1, 4))], SPEC)
    for row in alone:
        same = rows[row.id.prompt_key, row.id.index]
        assert row.completion.token_ids == same.completion.token_ids


def test_template_and_vocabulary_are_those_of_hf(served, hf) -> None:
    assert isinstance(served, TokenReader)
    assert served.policy.template == hf.policy.template
    assert served.tokenizer_key == hf.tokenizer_key
    assert served.encode(PROMPTS[0], "Seven.") == hf.encode(PROMPTS[0], "Seven.")


def test_a_forced_opening_counts_as_part_of_the_completion(served, hf) -> None:
    rows = list(drawn(served, n=2, opening="The lucky ").values())
    opening = hf.encode(PROMPTS[0], "The lucky ")[:-1]
    for row in rows:
        assert row.completion.text.startswith("The lucky ")
        assert row.completion.token_ids[: len(opening)] == opening
    assert apart(hf, rows) < LOGPROB


def test_without_a_tokenizer_the_server_continues_a_message(server) -> None:
    engine = open_engine(server.source, EngineOptions(arguments=("http.tokenizer=none",)))
    row = drawn(engine, n=1, opening="The lucky", prompts=PROMPTS[:1])[PROMPTS[0].key, 0]
    free = drawn(engine, n=2, prompts=PROMPTS[:1])
    close_engine(engine)
    assert row.completion.text.startswith("The lucky")
    assert len(row.completion.text) > len("The lucky")
    assert all(one.completion.logprobs for one in free.values())


def test_another_tokenizer_than_the_server_s_is_refused(server) -> None:
    other = resolve_source("pocket")
    with pytest.raises(ConfigError, match="is not the one"):
        open_engine(server.source, EngineOptions(arguments=(f"http.tokenizer={other}",)))


def test_an_adapter_is_a_policy_of_its_own(server, smollm2, adapter) -> None:
    lora = open_engine(server.source.replace("smollm2", "lora"))
    rows = list(drawn(lora, n=2).values())
    merged = open_engine(smollm2, EngineOptions(dtype="float32", adapter=adapter))
    assert apart(merged, rows) < LOGPROB
    assert apart(open_engine(smollm2, F32), rows) > 10 * LOGPROB
    assert lora.policy.key != open_engine(server.source).policy.key
    close_engine(lora)


def test_a_prompt_beyond_the_context_is_a_failed_row(served) -> None:
    long = user_prompt("t", "1", "one two three " * 400)
    [row] = drawn(served, n=1, prompts=[long]).values()
    assert row.completion.finish_reason is FinishReason.FAILED
    assert "context" in row.completion.failure


def test_an_audit_outlives_a_killed_server(server, tmp_path: Path) -> None:
    config = RunConfig(
        policies=(server.source, server.source.replace("smollm2", "lora")),
        task="constraints", n=8, prompts=8, max_new_tokens=24, batch_rows=8, group=4,
        engine_args=("http.samples=2",),
    )  # fmt: skip
    deaths: list[str] = []

    def kill_once(event) -> None:
        if not deaths and event.stage.startswith("policy 1") and event.done >= 8:
            deaths.append(event.stage)
            server.kill()
            threading.Timer(1.0, server.start).start()

    result = audit(tmp_path / "run", config, kill_once)
    assert deaths
    run = Run.open(tmp_path / "run")
    spec = run.specs()[0].key
    keys = [policy.key for policy in run.policies()]
    rows = [row for key in keys for row, _ in run.rollouts(policy_key=key, spec_key=spec)]
    counts = Counter(row.id for row in rows)
    assert len(rows) == 2 * 8 * 8
    assert set(counts.values()) == {1}
    assert result.sampled.failed == 0
    assert not [row for row in rows if row.completion.failure]


def test_locate_says_what_a_server_cannot_give(server, tmp_path: Path) -> None:
    run = RunConfig(
        policies=(server.source, server.source.replace("smollm2", "lora")),
        task="word-problems", n=4, prompts=4, max_new_tokens=24,
    )  # fmt: skip
    look = look_of(
        (), families=2, forced_n=2, sequences=2, doses=(1, 2), dose_n=2, reference="first"
    )
    found = locate(tmp_path / "located", LocateConfig(run=run, look=look))
    assert "drift" not in found.tables
    assert any("no hidden states" in sentence for sentence in found.paragraph)
    assert found.tables["likelihood"].rows
    assert {row.labels["how"] for row in found.tables["entropy"].rows} == {"sampling estimate"}
