"""Asks Math-Verify in a process that can be killed: from any thread, process or notebook.

A helper process is started when it is first needed (under a second), serves one question at a
time and is kept for the next. One that overruns its time is killed; the next question starts
another. Numbers and texts are decided without it, see ``compare``.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rewardable.errors import BoundaryError

START_S = 60.0
"""How long a helper may take to load Math-Verify."""

_MODULE = "rewardable.tasks.math.checker"


class Budget:
    """The seconds that Math-Verify may still take for one answer, whatever it is asked."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.left_s = limit_s


def same_formula(gold: str, answer: str, budget: Budget) -> bool:
    """Tell whether Math-Verify finds a formula equal to the reference; both without delimiters.

    Starting a helper, or waiting for one, does not count against the budget.

    Raises
    ------
    BoundaryError: no verdict within the budget, or the helper failed.
    """
    with _helpers().one() as helper:
        start = time.monotonic()
        try:
            return helper.ask(gold, answer, budget)
        finally:
            budget.left_s -= time.monotonic() - start


class _Helper:
    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[3])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        self.alive = True
        if not self._reply(START_S, f"no start in {START_S:g} s").get("ready"):
            self.kill()
            raise BoundaryError("Math-Verify", "while starting, it failed on 1 = 1")

    def ask(self, gold: str, answer: str, budget: Budget) -> bool:
        """Return the reply; a helper that gives none is killed."""
        try:
            stream = _open(self._process.stdin)
            stream.write(json.dumps([gold, answer, budget.left_s]).encode("ascii") + b"\n")
            stream.flush()
        except OSError as error:
            self.kill()
            raise BoundaryError("Math-Verify", "its process has died") from error
        reply = self._reply(budget.left_s, f"timeout: {budget.limit_s:g} s")
        if "same" not in reply:
            raise BoundaryError("Math-Verify", str(reply.get("failed")))
        return bool(reply["same"])

    def kill(self) -> None:
        """End the process at once."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                with suppress(OSError):
                    stream.close()

    def _reply(self, limit_s: float, late: str) -> dict[str, Any]:
        deadline = time.monotonic() + limit_s
        received = b""
        stream = _open(self._process.stdout)
        while not received.endswith(b"\n"):
            left = deadline - time.monotonic()
            if not select.select([stream], [], [], max(left, 0.0))[0]:
                self.kill()
                raise BoundaryError("Math-Verify", late)
            chunk = os.read(stream.fileno(), 4096)
            if not chunk:
                self.kill()
                raise BoundaryError("Math-Verify", "its process died")
            received += chunk
        return json.loads(received)


def _open(stream: Any) -> Any:
    if stream is None or stream.closed:
        raise OSError("closed")
    return stream


class _Helpers:
    """The helpers of one process: as many as threads ask at once, up to a bound."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(max(8, os.cpu_count() or 8))
        self._idle: list[_Helper] = []

    @contextmanager
    def one(self) -> Generator[_Helper]:
        """Lend an idle helper, or a new one; waiting for a slot does not count as its time."""
        with self._slots:
            try:
                helper = self._idle.pop()
            except IndexError:
                helper = _Helper()
            try:
                yield helper
            finally:
                if helper.alive:
                    self._idle.append(helper)


_BY_PROCESS: dict[int, _Helpers] = {}


def _helpers() -> _Helpers:
    """Return this process's own helpers: a forked child does not share its parent's pipes."""
    return _BY_PROCESS.setdefault(os.getpid(), _Helpers())
