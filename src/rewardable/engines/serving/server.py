"""HTTP in front of a service: routes, bodies, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rewardable.engines.serving.refusal import RefusedError
from rewardable.engines.serving.service import CHAT, COMPLETIONS, MODELS, Service
from rewardable.errors import ConfigError, UserError

BODY_MOST = 32 << 20
TIMEOUT_S = 60.0
"""A client that sends nothing for so long is let go."""
ROUTES = (COMPLETIONS, CHAT, MODELS, "/health")


class PolicyServer(ThreadingHTTPServer):
    """Serves one policy; a thread a connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service, host: str, port: int) -> None:
        self.service = service
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error}. Take another --port; 0 finds a free one."
            ) from error

    @property
    def url(self) -> str:
        """Root of the interface."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT_S

    @property
    def _service(self) -> Service:
        assert isinstance(self.server, PolicyServer)
        return self.server.service

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        if path == MODELS:
            self._send(200, self._service.models())
        elif path == "/health":
            self._send(200, {"status": "ok"})
        else:
            self._refuse(_no_route("GET", path))

    def do_POST(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        try:
            body = self._body()
            if path not in (COMPLETIONS, CHAT):
                raise _no_route("POST", path)
            answer = self._service.answer(path, body)
        except RefusedError as error:
            self._refuse(error)
        except UserError as error:
            self._refuse(RefusedError(str(error)))
        except Exception as error:  # noqa: BLE001 - the boundary to the client
            self._refuse(RefusedError(f"{type(error).__name__}: {error}", status=500))
        else:
            if isinstance(answer, dict):
                self._send(200, answer)
            else:
                self._stream(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a request a line would drown the rest."""

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > BODY_MOST:
            self.close_connection = True
            raise RefusedError(
                f"a request needs a Content-Length of at most {BODY_MOST}, got {length!r}.",
                status=413 if length.isdigit() else 411,
            )
        raw = self.rfile.read(int(length))
        kind = self.headers.get("Content-Type", "application/json").partition(";")[0].strip()
        if kind != "application/json":
            raise RefusedError(f"send application/json, got {kind}.", status=415)
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise RefusedError(f"the body is no JSON: {error}") from error
        if not isinstance(body, dict):
            raise RefusedError("the body must be an object.")
        return body

    def _refuse(self, error: RefusedError) -> None:
        self._send(error.status, error.body)

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer, allow_nan=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for data in events:
                self.wfile.write(data)
        except ConnectionError:  # the client has gone; its rows are drawn to their end
            return


def _no_route(method: str, path: str) -> RefusedError:
    known = ", ".join(ROUTES)
    return RefusedError(f"there is no {method} {path} here; there are {known}.", status=404)
