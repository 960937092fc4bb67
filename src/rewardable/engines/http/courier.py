"""Carries requests to a server and brings back answers, whatever happens on the way.

A request that fails is sent again: after a pause that doubles, or as long as ``Retry-After`` says.
While the server does not answer at all, nobody asks it but one, until it is back. What is sent
again is the same request, and only one answer to it is read, so nothing is lost or doubled.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

import httpx2

from rewardable.engines.http.answers import MalformedError
from rewardable.engines.http.patience import Gate, backoff_s, retry_after_s
from rewardable.engines.http.settings import HttpSettings
from rewardable.errors import BoundaryError, ConfigError

SHOWN = 300
"""Characters of a server's message that are quoted."""
CONNECT_S, HEALTH_S, PAUSE_S = 10.0, 10.0, 5.0
TRY_AGAIN = frozenset({408, 409, 425})
MODELS = "/models"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request has no answer."""

    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Errand:
    """A request: ``read`` turns its answer into a value, or raises :class:`MalformedError`.

    tag: whatever the sender wants to know it by.
    """

    path: str
    body: dict[str, Any]
    read: Callable[[Any], Any]
    tag: Any = None


class _RefusedError(Exception):
    """The server will not do this; asking again is of no use."""


class _TroubleError(Exception):
    """Something failed that may work next time."""


class _NoRoomError(Exception):
    """Too many requests; ``after_s`` is how long the server wants to be left alone."""

    def __init__(self, after_s: float) -> None:
        super().__init__("the server has no room (429)")
        self.after_s = after_s


class Courier:
    """Sends errands of one server from a thread of its own, ``width`` at once at most."""

    def __init__(self, url: str, settings: HttpSettings, width: int, transport: Any = None) -> None:
        self.url, self.settings, self.width = url, settings, width
        key = settings.key()
        self._secret = key
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(settings.timeout_s, connect=CONNECT_S, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=width),
            transport=transport,
        )
        self.check_models: Callable[[Any], None] = lambda _: None
        self._loop = asyncio.new_event_loop()
        self._gate, self._turn = Gate(width), asyncio.Lock()
        self._alive_at = 0.0
        thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="courier")
        thread.start()
        self._finalizer = weakref.finalize(self, _end, self._loop, self._client, thread)

    def close(self) -> None:
        """Close all connections. Nothing can be sent any more."""
        self._finalizer()

    def get(self, path: str) -> Any:
        """Return the JSON at ``path``; waits for a server that is not there yet.

        None where the server has no such path. BoundaryError when it does not come.
        """
        return asyncio.run_coroutine_threadsafe(self._wait_for(path), self._loop).result()

    def ask(self, errand: Errand) -> Any:
        """Return what one errand brings, or its :class:`Failure`."""
        return next(iter(self.run([errand])))[1]

    def run(self, errands: Iterable[Errand]) -> Iterator[tuple[Errand, Any]]:
        """Yield (errand, value or Failure) as they come; takes errands as places become free.

        Raises BoundaryError when the server stays away, ConfigError when it refuses everything.
        """
        if not self._finalizer.alive:
            raise BoundaryError(f"server {self.url}", "this engine was closed")
        waiting = iter(errands)
        pending: dict[Future[Any], Errand] = {}
        try:
            while True:
                while len(pending) < self.width and (one := next(waiting, None)) is not None:
                    future = asyncio.run_coroutine_threadsafe(self._deliver(one), self._loop)
                    pending[future] = one
                if not pending:
                    return
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda one: one.exception() is not None):
                    yield pending.pop(future), future.result()
        finally:
            for future in pending:
                future.cancel()

    async def _deliver(self, errand: Errand) -> Any:
        attempts, refused_since = 0, 0.0
        while True:
            try:
                async with self._gate.passing():
                    value = await self._once(errand)
                self._gate.widen()
                return value
            except _RefusedError as error:
                return Failure(str(error))
            except _NoRoomError as error:
                self._gate.narrow()
                refused_since = refused_since or time.monotonic()
                if time.monotonic() - refused_since >= self.settings.wait_s:
                    return Failure(f"{error} for {self.settings.wait_s:g} s")
                await asyncio.sleep(min(error.after_s + backoff_s(2), self.settings.wait_s))
            except _TroubleError as error:
                attempts += 1
                if attempts >= self.settings.attempts:
                    return Failure(f"{error}, {attempts} attempts")
                await self._until_alive()
                await asyncio.sleep(backoff_s(attempts))

    async def _once(self, errand: Errand) -> Any:
        try:
            response = await self._client.post(self.url + errand.path, json=errand.body)
            self._judge(response)
            return errand.read(_json(response))
        except httpx2.TimeoutException as error:
            raise _TroubleError(f"no answer within {self.settings.timeout_s:g} s") from error
        except httpx2.TransportError as error:
            raise _TroubleError(f"the connection failed: {self._clean(error)}") from error
        except MalformedError as error:
            raise _TroubleError(str(error)) from error

    def _judge(self, response: httpx2.Response) -> None:
        """Raise what an HTTP status means; nothing for 200."""
        status = response.status_code
        if status == 200:
            return
        said = f"HTTP {status}: {self._clean(_message(response))}"
        if status == 429:
            raise _NoRoomError(retry_after_s(response.headers.get("Retry-After")))
        if status in TRY_AGAIN or status >= 500:
            raise _TroubleError(said)
        if status in (401, 403):
            raise ConfigError(
                f"{self.url} refuses access ({said}). Put its key into ${self.settings.key_env}."
            )
        if status == 404:
            raise ConfigError(f"{self.url} does not serve this any more ({said}).")
        raise _RefusedError(said)

    async def _until_alive(self) -> None:
        """Return once the server answers; one asks for all who wait."""
        since = time.monotonic()
        async with self._turn:
            if self._alive_at <= since:
                self.check_models(await self._wait_for(MODELS))
                self._alive_at = time.monotonic()

    async def _wait_for(self, path: str) -> Any:
        until, attempt = time.monotonic() + self.settings.wait_s, 0
        while True:
            try:
                response = await self._client.get(self.url + path, timeout=HEALTH_S)
                if response.status_code in (404, 405, 501):
                    return None
                self._judge(response)
                return _json(response)
            except (httpx2.TransportError, _TroubleError, _NoRoomError, MalformedError) as error:
                why = self._clean(error) or type(error).__name__
            except _RefusedError as error:
                raise ConfigError(f"{self.url}{path}: {error}") from error
            if time.monotonic() >= until:
                raise BoundaryError(
                    f"server {self.url}",
                    f"no answer for {self.settings.wait_s:g} s ({why}). What it gave is stored; "
                    "start it and run the same command again.",
                )
            attempt += 1
            await asyncio.sleep(min(backoff_s(attempt), PAUSE_S))

    def _clean(self, what: object) -> str:
        """Return a message in one line, cut, and without the key."""
        text = " ".join(str(what).split())
        if self._secret:
            text = text.replace(self._secret, "***")
        return text[:SHOWN]


def _end(loop: asyncio.AbstractEventLoop, client: Any, thread: threading.Thread) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), loop).result(HEALTH_S)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(HEALTH_S)


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError as error:
        raise MalformedError("the answer is no whole JSON") from error


def _message(response: httpx2.Response) -> str:
    try:
        said: Any = response.json()
    except ValueError:
        return response.text
    inner = said.get("error", said) if isinstance(said, dict) else said
    return str(inner.get("message", inner) if isinstance(inner, dict) else inner)
