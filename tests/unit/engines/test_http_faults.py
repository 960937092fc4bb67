"""A server that fails in every known way: nothing is lost, nothing doubled, no key is shown."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fake_server import ABORT, DROP, GARBAGE, SHORT, TRUNCATE, FakeServer

from rewardable.collect import generate
from rewardable.engines import EngineOptions, close_engine, open_engine
from rewardable.engines.keyed import first_seed
from rewardable.errors import BoundaryError, ConfigError
from rewardable.protocols import HiddenReader, Sampler, SampleRequest, Scorer, TokenReader
from rewardable.records import FinishReason, Prompt, Rollout, SamplingSpec, user_prompt

pytest.importorskip("httpx2")
PROMPTS = [user_prompt("toy", "1", f"p{i}") for i in range(7)]
SPEC = SamplingSpec(max_new_tokens=8, seed=5)
INDICES = tuple(range(30))


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardable.engines.http.patience.FIRST_S", 0.004)
    monkeypatch.setattr("rewardable.engines.http.patience.LONGEST_S", 0.03)
    monkeypatch.delenv("REWARDABLE_API_KEY", raising=False)


@pytest.fixture
def opened() -> Iterator[Any]:
    engines: list[Any] = []

    def open_it(server: FakeServer, *arguments: str, rows: int = 64, **options: Any) -> Any:
        told = tuple(f"http.{one}" for one in arguments)
        engines.append(
            open_engine(
                f"{server.url}#toy", EngineOptions(arguments=told, batch_rows=rows, **options)
            )
        )
        return engines[-1]

    yield open_it
    for engine in engines:
        close_engine(engine)


def drawn(engine: Any, n: int = 4, prompts: list[Prompt] = PROMPTS) -> list[Rollout]:
    requests = [SampleRequest(prompt=prompt, indices=tuple(range(n))) for prompt in prompts]
    return list(engine.sample(requests, SPEC))


def expected(n: int = 4, prompts: list[Prompt] = PROMPTS) -> dict[tuple[str, int], str]:
    return {
        (prompt.key, i): f"{prompt.text}|{first_seed(SPEC.seed, prompt.key) + i}"
        for prompt in prompts
        for i in range(n)
    }


def texts(rows: list[Rollout]) -> dict[tuple[str, int], str]:
    found = {(row.id.prompt_key, row.id.index): row.completion.text for row in rows}
    assert len(found) == len(rows), "a row came twice"
    return found


@pytest.mark.parametrize("fault", [DROP, TRUNCATE, GARBAGE, SHORT, ABORT, 500, 502, 503, 408])
def test_a_request_that_fails_twice_is_sent_again(fault: Any, opened: Any) -> None:
    with FakeServer(faults=lambda number, _: fault if number % 3 else None) as server:
        rows = drawn(opened(server, "attempts=30"))
    assert texts(rows) == expected()
    assert len(server.posts) > 7  # it did fail


def test_a_storm_of_429_costs_time_and_no_row(opened: Any) -> None:
    until = time.monotonic() + 0.4
    with FakeServer(
        faults=lambda number, _: 429 if time.monotonic() < until else None, retry_after="0.01"
    ) as server:
        rows = drawn(opened(server, "attempts=1"))
        assert time.monotonic() >= until
    assert texts(rows) == expected()
    assert len(server.posts) < 400  # it was not hammered


def test_429_without_an_end_fails_the_rows_with_the_reason(opened: Any) -> None:
    with FakeServer(faults=lambda number, _: 429) as server:
        engine = opened(server, "wait_s=0.05")
        rows = drawn(engine, n=2, prompts=PROMPTS[:1])
    assert [row.completion.failure for row in rows] == [
        "the server has no room (429) for 0.05 s"
    ] * 2


def test_a_row_that_always_fails_is_a_failed_row_and_the_others_are_not(opened: Any) -> None:
    bad = PROMPTS[3].text
    with FakeServer(
        faults=lambda _, body: 500 if body["messages"][0]["content"] == bad else None
    ) as server:
        rows = drawn(opened(server, "attempts=3"))
    failed = [row for row in rows if row.completion.finish_reason is FinishReason.FAILED]
    assert {row.id.prompt_key for row in failed} == {PROMPTS[3].key}
    assert {row.completion.failure for row in failed} == {"HTTP 500: injected 500, 3 attempts"}
    assert len(rows) == 28
    assert sum(body["messages"][0]["content"] == bad for body in server.posts) == 3


def test_a_request_that_the_server_refuses_is_not_repeated(opened: Any) -> None:
    with FakeServer(faults=lambda *_: 400) as server:
        rows = drawn(opened(server), n=8, prompts=PROMPTS[:1])
    assert {row.completion.failure for row in rows} == {"HTTP 400: injected 400"}
    assert len(server.posts) == 1


def test_a_slow_answer_runs_into_the_time_limit(opened: Any) -> None:
    with FakeServer(slow_s=0.3) as server:
        rows = drawn(opened(server, "timeout_s=0.05", "attempts=2"), n=1, prompts=PROMPTS[:1])
    assert rows[0].completion.failure == "no answer within 0.05 s, 2 attempts"


def test_a_killed_server_is_waited_for_and_nothing_is_lost_or_doubled(opened: Any) -> None:
    server = FakeServer(slow_s=0.01)
    server.start()
    engine = opened(server, "samples=1", "attempts=3", "wait_s=20", rows=4)

    def kill_and_restart() -> None:
        server.stop()
        time.sleep(0.5)
        server.start()

    found: list[Rollout] = []
    for row in engine.sample(
        [SampleRequest(prompt=prompt, indices=tuple(range(8))) for prompt in PROMPTS], SPEC
    ):
        found.append(row)
        if len(found) == 20:
            thread = threading.Thread(target=kill_and_restart)
            thread.start()
    thread.join()
    server.stop()
    assert texts(found) == expected(8)


def test_a_server_that_stays_away_ends_the_run_and_keeps_what_it_gave(opened: Any) -> None:
    server = FakeServer()
    server.start()
    engine = opened(server, "samples=1", "wait_s=0.1", "attempts=9", rows=2)
    found: list[Rollout] = []

    def take_all() -> None:
        for row in engine.sample([SampleRequest(prompt=PROMPTS[0], indices=INDICES)], SPEC):
            found.append(row)
            if len(found) == 5:
                server.stop()

    with pytest.raises(BoundaryError, match=r"no answer for 0.1 s.*run the same command again"):
        take_all()
    assert texts(found).items() <= expected(30, PROMPTS[:1]).items()
    assert len(found) >= 5


def test_another_model_after_the_restart_is_an_error(opened: Any) -> None:
    server = FakeServer(faults=lambda number, _: 500 if number else None)
    with server:
        engine = opened(server, "samples=1", rows=1)
        server.models = ("other",)
        with pytest.raises(ConfigError, match="unknown model"):
            drawn(engine, prompts=PROMPTS[:1])


def test_what_is_stored_is_not_asked_for_again(opened: Any) -> None:
    class Sink:
        def __init__(self) -> None:
            self.rows: list[Rollout] = []

        def rollout_ids(self, policy_key: str, spec_key: str) -> set[Any]:
            return {row.id for row in self.rows}

        def add_rollouts(self, rows: Any) -> None:
            self.rows += rows

    sink = Sink()
    with FakeServer() as server:
        generate(opened(server), PROMPTS, 3, SPEC, sink)
        asked = len(server.posts)
        generate(opened(server), PROMPTS, 7, SPEC, sink)
    assert texts(sink.rows) == expected(7)
    assert sum(body["n"] for body in server.posts[asked:]) == 4 * 7


@pytest.mark.parametrize(("rows", "samples"), [(4, 1), (8, 2)])
def test_no_more_is_in_flight_than_allowed(rows: int, samples: int, opened: Any) -> None:
    with FakeServer(slow_s=0.004) as server:
        drawn(opened(server, f"samples={samples}", rows=rows))
    assert 1 < server.busiest <= rows // samples


def test_a_server_that_is_no_vllm_gets_one_seed_a_request_and_standard_fields(opened: Any) -> None:
    with FakeServer(vllm=False) as server:
        assert texts(drawn(opened(server), n=3)) == expected(3)
        with pytest.raises(ConfigError, match="top_k"):
            list(
                opened(server).sample(
                    [SampleRequest(prompt=PROMPTS[0], indices=(0,))], SamplingSpec(top_k=5)
                )
            )
    assert {body["n"] for body in server.posts} == {1}
    assert {key for body in server.posts for key in body} == {
        "model", "messages", "n", "seed", "max_tokens", "temperature", "top_p",
    }  # fmt: skip


def test_vllm_is_told_every_setting_lest_the_model_s_own_defaults_act(opened: Any) -> None:
    with FakeServer() as server:
        drawn(opened(server), prompts=PROMPTS[:1])
    body = server.posts[0]
    assert body["top_k"] == -1
    assert (body["min_p"], body["repetition_penalty"], body["frequency_penalty"]) == (0, 1, 0)


def test_openings_are_continued_by_vllm_and_by_text_and_refused_elsewhere(opened: Any) -> None:
    request = SampleRequest(prompt=PROMPTS[0], indices=(0,), opening="So ")
    with FakeServer() as server, FakeServer(vllm=False) as other:
        chat = next(opened(server).sample([request], SPEC)).completion
        raw = next(opened(other, prompt_format="raw").sample([request], SPEC)).completion
        refused = next(opened(other).sample([request], SPEC)).completion
    assert chat.text.startswith("So ")
    assert server.posts[0]["continue_final_message"] is True
    assert server.posts[0]["messages"][-1] == {"role": "assistant", "content": "So "}
    assert raw.text.startswith("So p0So |")
    assert refused.finish_reason is FinishReason.FAILED
    assert "cannot be made to begin with an opening" in refused.failure


def test_without_a_tokenizer_an_engine_claims_neither_scores_nor_texts(opened: Any) -> None:
    with FakeServer() as server:
        engine = opened(server)
    assert isinstance(engine, Sampler)
    assert not isinstance(engine, Scorer | TokenReader | HiddenReader)


def test_a_wrong_model_name_is_an_error_with_a_suggestion() -> None:
    with FakeServer(models=("toy-base", "toy-trained")) as server:
        with pytest.raises(ConfigError, match="Did you mean 'toy-trained'"):
            open_engine(f"{server.url}#toy-traind")
        with pytest.raises(ConfigError, match="serves 2 models"):
            open_engine(server.url)


def test_the_key_is_sent_and_shown_nowhere(
    opened: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REWARDABLE_API_KEY", "sk-secret-1")
    with FakeServer(key="sk-secret-1") as server:
        engine = opened(server)
        rows = drawn(engine, n=1)
        assert "sk-secret" not in repr((engine, rows, engine.policy, server.posts))
        server.key = "sk-secret-2"
        with pytest.raises(ConfigError) as caught:
            drawn(engine, n=1)
    assert "sk-secret-1" not in str(caught.value)
    assert "REWARDABLE_API_KEY" in str(caught.value)


def test_a_closed_engine_says_so() -> None:
    with FakeServer() as server:
        engine = open_engine(f"{server.url}#toy")
        close_engine(engine)
        with pytest.raises(BoundaryError, match="closed"):
            drawn(engine)


def test_a_caller_that_stops_early_leaves_nothing_running(opened: Any) -> None:
    with FakeServer(slow_s=0.02) as server:
        rows = opened(server, "samples=1", rows=4).sample(
            [SampleRequest(prompt=PROMPTS[0], indices=tuple(range(200)))], SPEC
        )
        next(rows)
        rows.close()
        time.sleep(0.05)
        asked = len(server.posts)
        time.sleep(0.1)
        assert len(server.posts) == asked < 20
