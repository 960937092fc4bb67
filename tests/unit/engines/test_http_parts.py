"""Parts of the engine for servers: names, answers, pauses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from rewardable.engines.arguments import arguments_of
from rewardable.engines.http.answers import MalformedError, Opening, by_ids, from_chat, scores
from rewardable.engines.http.card import read_card
from rewardable.engines.http.patience import LONGEST_S, backoff_s, retry_after_s
from rewardable.engines.http.settings import HttpSettings
from rewardable.engines.http.source import ServerSource, parse_source
from rewardable.engines.keyed import consecutive, first_seed
from rewardable.errors import ConfigError
from rewardable.records import FinishReason, SamplingSpec

PLAIN = SamplingSpec()


def test_sources_are_read_whole() -> None:
    assert parse_source("http://h:8000/v1/#org/m@step-40") == ServerSource(
        url="http://h:8000/v1", model="org/m", revision="step-40"
    )
    assert parse_source("https://h/v1").model == ""


@pytest.mark.parametrize(
    "bad", ["http://u:p@h/v1#m", "http://h/v1?api_key=s#m", "http:///v1", "http://h:99999/v1"]
)
def test_a_source_with_a_secret_or_without_a_host_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="http://HOST"):
        parse_source(bad)


def test_arguments_go_to_their_engine_and_mistakes_are_errors() -> None:
    texts = ("vllm.tensor_parallel_size=2", "http.wait_s=60", "http.tokenizer=a/b=c")
    assert arguments_of("vllm", texts) == {"tensor_parallel_size": 2}
    assert arguments_of("http", texts) == {"wait_s": 60, "tokenizer": "a/b=c"}
    with pytest.raises(ConfigError, match="Did you mean 'http'"):
        arguments_of("http", ("htp.wait_s=1",))
    with pytest.raises(ConfigError, match=r"ENGINE\.KEY=VALUE"):
        arguments_of("http", ("wait_s=1",))
    with pytest.raises(ConfigError, match="twice"):
        arguments_of("http", ("http.wait_s=1", "http.wait_s=2"))


@pytest.mark.parametrize(
    ("given", "message"),
    [({"wait": 1}, "Did you mean 'wait_s'"), ({"attempts": 0}, ">= 1"),
     ({"samples": 1.5}, "samples"), ({"timeout_s": "long"}, "timeout_s"),
     ({"key_env": 3}, "key_env")],
)  # fmt: skip
def test_settings_refuse_what_cannot_be_meant(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        HttpSettings.of(given)


def test_a_key_that_no_header_takes_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDABLE_API_KEY", "sk-\x07line")
    with pytest.raises(ConfigError) as caught:
        HttpSettings().key()
    assert "sk-" not in str(caught.value)


def test_pauses_double_up_to_a_bound_and_are_jittered() -> None:
    pauses = [[backoff_s(attempt) for _ in range(50)] for attempt in (1, 2, 3, 30)]
    assert [
        max(some) <= bound for some, bound in zip(pauses, (0.25, 0.5, 1.0, LONGEST_S), strict=True)
    ]
    assert max(pauses[0]) <= 0.25 < min(pauses[2]) * 2
    assert max(pauses[3]) <= LONGEST_S <= 2 * min(pauses[3])
    assert len(set(pauses[0])) > 40


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert retry_after_s("7") == 7
    assert retry_after_s("Thu, 01 Jan 2026 12:00:30 GMT", now) == 30
    assert retry_after_s("Thu, 01 Jan 2026 11:00:00 GMT", now) == 0
    assert retry_after_s("soon") == retry_after_s(None) == 0


def test_indices_are_asked_for_in_consecutive_runs_with_seeds_of_their_own() -> None:
    runs = list(consecutive((9, 0, 1, 2, 5, 6), 2))
    assert runs == [(0, 1), (2,), (5, 6), (9,)]
    base = first_seed(0, "key")
    assert base == first_seed(0, "key")
    assert len({base, first_seed(1, "key"), first_seed(0, "other")}) == 3
    assert all(0 <= first_seed(seed, "k") + 100_000 < 2**31 for seed in range(300))


def _choice(**more: Any) -> dict[str, Any]:
    return {"index": 0, "text": " b", "finish_reason": "stop", "token_ids": [7, 2],
            "logprobs": {"token_logprobs": [-0.5, -0.1]}, **more}  # fmt: skip


def test_ids_and_logprobs_of_opening_and_continuation_are_joined() -> None:
    before = [None, {"5": {"logprob": -3.0}}, {"6": {"logprob": -0.25}}]
    answer = {"choices": [_choice(prompt_logprobs=before)]}
    [one] = by_ids(answer, 1, Opening(text="a", ids=(6,)), 5, PLAIN)
    assert (one.text, one.token_ids, one.logprobs) == ("a b", (6, 7, 2), (-0.25, -0.5, -0.1))
    assert one.sampling_logprobs == one.logprobs
    [cool] = by_ids(answer, 1, Opening(text="a", ids=(6,)), 5, SamplingSpec(temperature=0.5))
    assert cool.sampling_logprobs == ()
    [full] = by_ids(answer, 1, Opening(text="a", ids=(6,)), 0, PLAIN)
    assert (full.text, full.token_ids, full.finish_reason) == ("a", (6,), FinishReason.LENGTH)


def test_logprobs_that_do_not_fit_the_ids_are_left_out() -> None:
    answer = {"choices": [_choice(logprobs={"token_logprobs": [-0.5]})]}
    [one] = by_ids(answer, 1, Opening(), 5, PLAIN)
    assert (one.logprobs, one.token_ids) == ((), (7, 2))


@pytest.mark.parametrize(
    "answer",
    [None, [], {}, {"choices": []}, {"choices": [_choice(), _choice()]},
     {"choices": [_choice(index=1)]}, {"choices": [_choice(token_ids=None)]},
     {"choices": [_choice(finish_reason="abort")]}],
)  # fmt: skip
def test_an_answer_of_another_form_is_malformed(answer: Any) -> None:
    with pytest.raises(MalformedError):
        by_ids(answer, 1, Opening(), 5, PLAIN)


def test_reasoning_is_put_back_and_a_withheld_answer_is_a_failed_row() -> None:
    message = {"content": "7", "reasoning_content": "3+4"}
    chats = {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    [one] = from_chat(chats, 1, Opening(), PLAIN)
    assert (one.text, one.finish_reason) == ("<think>3+4</think>7", FinishReason.LENGTH)
    chats["choices"][0]["finish_reason"] = "content_filter"
    [held] = from_chat(chats, 1, Opening(), PLAIN)
    assert (held.finish_reason, held.text) == (FinishReason.FAILED, "")


def test_scores_are_those_of_the_ids_asked_for() -> None:
    listed = [None, {"5": {"logprob": -3.0}}, {"9": {"logprob": -0.1}, "6": {"logprob": -2.5}}]
    answer = {"choices": [{"index": 0, "prompt_logprobs": listed}]}
    assert scores(answer, (6,), 2) == (-2.5,)
    with pytest.raises(MalformedError, match="no log-probs of the prompt"):
        scores(answer, (8,), 2)


def test_an_adapter_s_card_knows_its_base() -> None:
    listing = {"data": [
        {"id": "base", "root": "/w/base", "owned_by": "vllm", "max_model_len": 64},
        {"id": "lora", "root": "/w/lora", "parent": "base", "owned_by": "vllm"},
    ]}  # fmt: skip
    card = read_card(listing, ServerSource(url="http://h/v1", model="lora"))
    assert (card.base, card.root, card.context, card.vllm) == ("/w/base", "/w/lora", 64, True)
    with pytest.raises(ConfigError, match="lists no models"):
        read_card(None, ServerSource(url="http://h/v1"))
