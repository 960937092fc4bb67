"""What a request asks for, and what is said to one that cannot be answered as asked."""

from __future__ import annotations

from typing import Any

import pytest

from rewardable.engines.serving.asking import read_chat, read_text
from rewardable.engines.serving.encoder import IDS, TEXT
from rewardable.engines.serving.refusal import RefusedError

HELLO = [{"role": "user", "content": "hello"}]


def test_settings_are_read() -> None:
    body = {
        "prompt": ["a", "b"], "n": 3, "max_tokens": 7, "temperature": 0.5, "top_p": 0.9,
        "top_k": -1, "seed": 11, "stop": "x", "logprobs": 0, "presence_penalty": 0.0,
        "min_p": None, "stream": True, "stream_options": {"include_usage": True},
    }  # fmt: skip
    asked = read_text(body, fresh_seed=1)
    assert [p.text for p in asked.prompts] == ["a", "b"]
    assert {p.task for p in asked.prompts} == {TEXT}
    assert [request.indices for request in asked.requests] == [(11, 12, 13)] * 2
    spec = asked.spec
    assert (spec.temperature, spec.top_p, spec.top_k) == (0.5, 0.9, 0)
    assert (spec.max_new_tokens, spec.stop, spec.seed) == (7, ("x",), 0)
    assert asked.logprobs
    assert asked.stream
    assert asked.usage_in_stream


def test_prompts_may_be_token_ids() -> None:
    (one,) = read_text({"prompt": [5, 6]}, 0).prompts
    assert (one.task, one.text) == (IDS, "[5, 6]")
    assert len(read_text({"prompt": [[5, 6], [7]]}, 0).prompts) == 2


def test_a_request_without_seed_gets_a_fresh_one() -> None:
    assert read_text({"prompt": "a"}, 77).requests[0].indices == (77,)


def test_a_chat_may_go_on_with_the_assistants_words() -> None:
    asked = read_chat({"messages": HELLO, "max_completion_tokens": 9, "max_tokens": 5}, 0)
    assert (asked.spec.max_new_tokens, asked.opening) == (9, "")
    turns = [*HELLO, {"role": "assistant", "content": [{"type": "text", "text": "Well"}]}]
    more = {"messages": turns, "continue_final_message": True, "add_generation_prompt": False}
    asked = read_chat(more, 0)
    assert asked.opening == "Well"
    assert [m.content for m in asked.prompts[0].messages] == ["hello"]
    assert asked.prompts[0].key != read_chat({"messages": HELLO}, 0).prompts[0].key


@pytest.mark.parametrize(
    ("change", "param", "told"),
    [
        ({"prompt": None}, "prompt", "prompt must be a text"),
        ({"prompt": []}, "prompt", "prompt must be a text"),
        ({"prompt": [1, "a"]}, "prompt", "prompt must be a text"),
        ({"prompt": [[-1]]}, "prompt", "prompt must be a text"),
        ({"temprature": 1}, "temprature", "Did you mean 'temperature'"),
        ({"temperature": "hot"}, "temperature", "must be of type float"),
        ({"temperature": -1}, "temperature", "must be >= 0"),
        ({"top_p": 0}, "top_p", "must be in (0, 1]"),
        ({"max_tokens": 0}, "max_tokens", "must be >= 1"),
        ({"max_tokens": True}, "max_tokens", "must be of type int"),
        ({"n": 0}, "n", "1 to 4096"),
        ({"n": 5000}, "n", "1 to 4096"),
        ({"seed": -1}, "seed", "seed must be >= 0"),
        ({"stop": [1]}, "stop", "stop must be a text"),
        ({"logprobs": 5}, "logprobs", "logprobs must be 0"),
        ({"presence_penalty": 0.5}, "presence_penalty", "not done here"),
        ({"echo": True}, "echo", "not done here"),
    ],
)
def test_a_bad_request_is_told_why(change: dict[str, Any], param: str, told: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_text({"prompt": "a", **change}, 0)
    error = caught.value.body["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert told in error["message"]
    assert caught.value.status == 400


@pytest.mark.parametrize(
    "change",
    [
        {"messages": []},
        {"messages": ["hello"]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"continue_final_message": True, "add_generation_prompt": False},
        {"continue_final_message": True, "add_generation_prompt": True},
        {"tools": [{"type": "function"}]},
        {"logprobs": True, "top_logprobs": 3},
    ],
)
def test_a_bad_chat_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(RefusedError):
        read_chat({"messages": HELLO, **change}, 0)
