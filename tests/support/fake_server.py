"""An OpenAI-compatible server in a thread, which fails in the ways that servers fail.

Answers are pure functions of (prompt, seed + index), as vLLM's are, so that a sample drawn twice
is the same sample. ``faults`` decides by request what happens instead of an answer.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DROP, TRUNCATE, GARBAGE, SHORT, ABORT = "drop", "truncate", "garbage", "short", "abort"
Fault = str | int | None
"""A status to answer with, one of the names above, or None for a good answer."""


@dataclass
class FakeServer:
    """``with FakeServer(...) as server``: ``server.url`` is the API's root.

    faults: (number of the POST, its body) -> what goes wrong. retry_after: the header on 429.
    slow_s: before every answer. vllm: says that it is vLLM. served: what every prompt got.
    """

    faults: Callable[[int, dict[str, Any]], Fault] = lambda number, body: None
    models: tuple[str, ...] = ("toy",)
    vllm: bool = True
    retry_after: str = ""
    slow_s: float = 0.0
    key: str = ""
    port: int = 0
    posts: list[dict[str, Any]] = field(default_factory=list)
    busiest: int = 0

    def __post_init__(self) -> None:
        self._lock, self._busy = threading.Lock(), 0
        self.connections: set[socket.socket] = set()

    def __enter__(self) -> FakeServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(
            target=lambda: self._server.serve_forever(poll_interval=0.01), daemon=True
        ).start()

    def stop(self) -> None:
        """Die: no answer, and connections that are open break."""
        self._server.shutdown()
        self._server.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def enter(self, body: dict[str, Any]) -> int:
        with self._lock:
            self.posts.append(body)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            return len(self.posts) - 1

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1


def answer_to(body: dict[str, Any]) -> dict[str, Any]:
    """Return the good answer: sample i says which prompt and which seed it is of."""
    found = []
    for index in range(body.get("n", 1)):
        prompt = body.get("prompt") or body["messages"][-1]["content"]
        text = f"{prompt}|{body.get('seed', 0) + index}"
        one: dict[str, Any] = {"index": index, "finish_reason": "stop"}
        if "messages" in body:
            one["message"] = {"role": "assistant", "content": text}
        else:
            one["text"] = text
        found.append(one)
    return {"choices": found[::-1]}  # a server promises no order


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            server.connections.add(self.connection)

        def handle(self) -> None:
            with contextlib.suppress(OSError):
                super().handle()

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            if not self._allowed():
                return
            owner = "vllm" if server.vllm else "toys"
            listing = [{"id": name, "owned_by": owner} for name in server.models]
            self._send(200, {"data": listing})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self._allowed():
                return
            number = server.enter(body)
            try:
                time.sleep(server.slow_s)
                self._reply(body, server.faults(number, body))
            finally:
                server.leave()

        def _allowed(self) -> bool:
            sent = self.headers.get("Authorization", "")
            if server.key and sent != f"Bearer {server.key}":
                self._send(401, {"error": {"message": f"bad key {sent.removeprefix('Bearer ')}"}})
                return False
            return True

        def _reply(self, body: dict[str, Any], fault: Fault) -> None:
            if isinstance(fault, int):
                self._send(fault, {"error": {"message": f"injected {fault}"}})
            elif fault == DROP:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif fault == TRUNCATE:
                self._send(200, answer_to(body), cut=True)
            elif fault == GARBAGE:
                self._send(200, "{not json")
            else:
                answer = answer_to(body)
                if fault == SHORT:
                    answer["choices"].pop()
                if fault == ABORT:
                    answer["choices"][0]["finish_reason"] = "abort"
                self._send(200, answer)

        def _send(self, status: int, what: Any, cut: bool = False) -> None:
            data = what.encode() if isinstance(what, str) else json.dumps(what).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status == 429 and server.retry_after:
                self.send_header("Retry-After", server.retry_after)
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if cut else data)
            if cut:
                self.close_connection = True

    return Handler
