"""The server over a policy with known behaviour, spoken to by plain HTTP."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rewardable.engines.serving.server import PolicyServer
from rewardable.errors import ConfigError
from rewardable.workflows.serve import serving

ROW = {"yes": 0.75, "no": 0.25}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyServer]:
    file = tmp_path_factory.mktemp("served") / "toy.json"
    file.write_text(json.dumps({"table": {"*": ROW, "broken": {"never": 1.0}}}))
    with serving(f"fake:{file}", port=0, model="toy") as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def call(server: PolicyServer, method: str, path: str, body: Any = None, **headers: str):
    link = HTTPConnection("127.0.0.1", server.server_address[1], timeout=20)
    data = json.dumps(body) if not isinstance(body, str | None) else body
    link.request(method, path, data, {"Content-Type": "application/json", **headers})
    answer = link.getresponse()
    raw = answer.read()
    link.close()
    return answer.status, raw


def post(server: PolicyServer, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    status, raw = call(server, "POST", path, body)
    return status, json.loads(raw)


def texts(answer: dict[str, Any]) -> list[str]:
    return [one["text"] for one in answer["choices"]]


def test_it_says_whom_it_serves(server: PolicyServer) -> None:
    status, raw = call(server, "GET", "/v1/models")
    (entry,) = json.loads(raw)["data"]
    assert status == 200
    assert (entry["id"], entry["owned_by"]) == ("toy", "rewardable")
    assert entry["policy_key"] == server.service.policy.key
    assert server.server_address[0] == "127.0.0.1"


def test_rows_have_the_policys_distribution_and_follow_the_seed(server: PolicyServer) -> None:
    _, found = post(server, "/v1/completions", prompt="a", n=2000, seed=5)
    drawn = texts(found)
    assert [one["index"] for one in found["choices"]] == list(range(2000))
    assert Counter(drawn)["yes"] / 2000 == pytest.approx(0.75, abs=0.04)
    _, again = post(server, "/v1/completions", prompt="a", n=3, seed=1000)
    assert texts(again) == drawn[995:998]  # row i is drawn at seed + i
    _, other = post(server, "/v1/completions", prompt="b", n=2000, seed=5)
    assert texts(other) != drawn


def test_requests_that_share_a_batch_get_their_own_rows(server: PolicyServer) -> None:
    def ask(number: int) -> list[str]:
        body = {"prompt": ["a", str(number % 3)], "n": 4, "seed": number}
        return texts(post(server, "/v1/completions", **body)[1])

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(16)))
    assert together == [ask(number) for number in range(16)]


def test_chat(server: PolicyServer) -> None:
    turns = [{"role": "user", "content": "a"}]
    status, found = post(server, "/v1/chat/completions", model="toy", messages=turns, n=2)
    assert (status, found["object"]) == (200, "chat.completion")
    assert {one["message"]["content"] for one in found["choices"]} <= set(ROW)
    assert {one["finish_reason"] for one in found["choices"]} == {"stop"}
    assert found["usage"] is None  # this policy has no tokens to count


@pytest.mark.parametrize("chat", [True, False], ids=["chat", "text"])
def test_streams_bring_the_same_rows(server: PolicyServer, chat: bool) -> None:
    path = "/v1/chat/completions" if chat else "/v1/completions"
    body: dict[str, Any] = {"n": 4, "seed": 9}
    body |= {"messages": [{"role": "user", "content": "a"}]} if chat else {"prompt": "a"}
    _, whole = post(server, path, **body)
    status, raw = call(server, "POST", path, {**body, "stream": True})
    lines = [line for line in raw.decode().split("\n\n") if line]
    assert status == 200
    assert lines.pop() == "data: [DONE]"
    pieces = ["", "", "", ""]
    for line in lines:
        (one,) = json.loads(line.removeprefix("data: "))["choices"]
        pieces[one["index"]] += one["delta"].get("content", "") if chat else one["text"]
    wanted = [one["message"]["content"] for one in whole["choices"]] if chat else texts(whole)
    assert pieces == wanted


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/nothing", None, 404),
        ("POST", "/v1/embeddings", {}, 404),
        ("POST", "/v1/completions", "{", 400),
        ("POST", "/v1/completions", "[1]", 400),
        ("POST", "/v1/completions", {"prompt": "a", "model": "other"}, 404),
        ("POST", "/v1/completions", {"prompt": [1, 2]}, 400),
        ("POST", "/v1/completions", {"prompt": "a", "prompt_logprobs": 0}, 400),
        ("POST", "/v1/completions", {"prompt": "a", "n": -1}, 400),
    ],
)
def test_mistakes_get_openais_form_of_an_error(
    server: PolicyServer, method: str, path: str, body: Any, status: int
) -> None:
    got, raw = call(server, method, path, body)
    error = json.loads(raw)["error"]
    assert got == status
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]


def test_a_form_post_from_a_web_page_is_refused(server: PolicyServer) -> None:
    body = json.dumps({"prompt": "a"})
    status, _ = call(server, "POST", "/v1/completions", body, **{"Content-Type": "text/plain"})
    assert status == 415
    assert call(server, "POST", "/v1/completions", body)[0] == 200


def test_what_is_served_elsewhere_is_refused(server: PolicyServer, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a server's policy already"), serving(server.url):
        pass
    file = tmp_path / "toy.json"
    file.write_text(json.dumps({"table": {"*": ROW}}))
    taken = server.server_address[1]
    with pytest.raises(ConfigError, match="cannot listen"), serving(f"fake:{file}", port=taken):
        pass
