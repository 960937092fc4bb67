"""The process that judges: it serves chunks until its pipe closes."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from rewardable.collect.judge import describe_error, judge
from rewardable.protocols import Verifier

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Ready:
    """The verifier is loaded."""


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """The verifier could not be loaded."""

    why: str


def serve(pickled: bytes, pipe: Connection) -> None:
    """Answer every chunk with one verdict a completion, in order, each as soon as it is there."""
    _detach()
    verifier = _load(pickled, pipe)
    if verifier is None:
        return
    pipe.send(Ready())
    try:
        while True:
            for prompt, completion in pipe.recv():
                pipe.send(judge(verifier, prompt, completion))
    except (EOFError, BrokenPipeError):
        return


def kill(process: BaseProcess) -> None:
    """Kill a worker and whatever processes its verifier started."""
    pid = process.pid
    if pid is not None and process.exitcode is None:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            process.kill()
    process.join()


def _load(pickled: bytes, pipe: Connection) -> Verifier | None:
    try:
        return pickle.loads(pickled)
    except Exception as error:  # noqa: BLE001 - the named boundary: loading a foreign verifier
        pipe.send(LoadFailure(f"cannot be loaded in a process: {describe_error(error)}"))
        return None


def _detach() -> None:
    """Lead an own process group, leave Ctrl-C to the parent, die when the parent dies."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
