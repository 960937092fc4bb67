"""The referee's process: it alone holds the tests; the solution is a pipe that gives back data.

A test passes when the referee has seen its statement finish. Nothing that the solution sends can
say that; it can only be the value of a call.
"""

from __future__ import annotations

import builtins
import json
import os
import random
import resource
from collections.abc import Callable
from itertools import count
from typing import Any, BinaryIO

from rewardable.tasks.code.box.jail import Limits, die_with_parent, set_limit
from rewardable.tasks.code.box.units import Script, Unit, split_tests
from rewardable.tasks.code.box.wire import LONGEST, NotPlainError, decode, encode

_MB = 1 << 20


class SolutionGoneError(Exception):
    """The solution's process has ended or does not speak the protocol any more."""


class _NoStartError(Exception):
    """The solution's process failed before it had any code."""


class _BrokenTestsError(Exception):
    """The tests cannot be run as they are; no verdict on the solution follows."""


class Solution:
    """The other end of the pipe."""

    def __init__(self, calls_fd: int, replies_fd: int) -> None:
        self._calls: BinaryIO = os.fdopen(calls_fd, "wb")
        self._replies: BinaryIO = os.fdopen(replies_fd, "rb")
        self._numbers = count()
        self._gone = ""

    def read(self) -> dict[str, Any]:
        """Read one message; SolutionGoneError for its end, and for what is none."""
        try:
            line = b"" if self._gone else self._replies.readline(LONGEST + 2)
            message = json.loads(line) if line.endswith(b"\n") else None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            self._gone = self._gone or "the process ended"
            raise SolutionGoneError(self._gone)
        return message

    def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        try:
            self._calls.write(json.dumps(message).encode() + b"\n")
            self._calls.flush()
        except OSError as error:
            self._gone = self._gone or "the process ended"
            raise SolutionGoneError(self._gone) from error

    def function(self, name: str, in_place: bool) -> Callable[..., Any]:
        """Return a function that is called over there."""

        def call(*args: Any, **named: Any) -> Any:
            return self._call(name, args, named, in_place)

        return call

    def _call(self, name: str, args: tuple[Any, ...], named: dict[str, Any], in_place: bool) -> Any:
        number = next(self._numbers)
        message = {"id": number, "name": name, "in_place": in_place}
        try:
            message |= {"args": encode(args), "named": encode(named)}
        except NotPlainError as error:
            raise _BrokenTestsError(f"an argument is not plain data: {error}") from error
        if _holds_opaque(message["args"]):
            raise _BrokenTestsError("an argument is not plain data")
        self.send(message)
        reply = self.read()
        if reply.get("id") != number:
            self._gone = "a reply to no call"
            raise SolutionGoneError(self._gone)
        if "value" not in reply:
            raise _error_of(reply.get("error"))
        try:
            value = decode(reply["value"])
            if in_place:
                _write_back(args, decode(reply.get("args")))
        except (NotPlainError, RecursionError) as error:
            raise NotPlainError("an unreadable value") from error
        return value


def referee(
    solution: Solution, job: dict[str, Any], limits: Limits, tell: Callable[[dict[str, Any]], None]
) -> None:
    """Run the tests and ``tell`` about every unit; the first line says which walls stand."""
    die_with_parent()
    _limit(limits)
    try:
        walls = _walls(solution)
        tell({"walls": walls})
        missing = [wall for wall in job["required"] if wall not in walls]
        if missing:
            tell({"refused": f"no isolation of {', '.join(missing)} here"})
            return
        script = split_tests(job["tests"], job["entry_point"])
        tell({"units": sum(unit.checks for unit in script.units)})
        solution.send({"go": True})
        loaded = solution.read()
        if not loaded.get("loaded"):
            tell({"fault": f"while loading: {_named(loaded.get('error'))}"})
        else:
            tell({"loaded": True})
            _run(script, solution, job, tell)
        tell({"done": True})
    except SolutionGoneError as error:
        tell({"fault": f"while loading: {error}", "done": True})
    except _NoStartError as error:
        tell({"refused": str(error)})
    except _BrokenTestsError as error:
        tell({"refused": f"tests: {error}"})
    except Exception as error:  # noqa: BLE001 - the named boundary: tests of a foreign file
        tell({"refused": f"tests: {type(error).__name__}: {str(error)[:120]}"})


def _walls(solution: Solution) -> list[str]:
    """Return the walls that the process has built around itself before it knows any code."""
    try:
        return list(solution.read()["walls"])
    except (SolutionGoneError, KeyError, TypeError) as error:
        raise _NoStartError(f"the solution's process did not start: {error}") from error


def _run(
    script: Script, solution: Solution, job: dict[str, Any], tell: Callable[[dict[str, Any]], None]
) -> None:
    random.seed(0)
    space: dict[str, Any] = {"__name__": "tests"}
    exec(compile(job["setup"], "setup.py", "exec"), space)
    proxy = solution.function(job["entry_point"], job["in_place"])
    space[job["entry_point"]] = proxy
    exec(script.prelude, space)
    space[script.candidate] = proxy
    for unit in script.units:
        fault = _fault(unit, space)
        if unit.checks:
            tell({"passed": not fault, "fault": f"line {unit.line}: {fault}" if fault else ""})


def _fault(unit: Unit, space: dict[str, Any]) -> str:
    try:
        exec(unit.code, space)
    except AssertionError:
        return "assertion"
    except _BrokenTestsError:
        raise
    except SolutionGoneError as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001 - whatever a wrong value does to a test fails it
        return f"{type(error).__name__}: {str(error)[:120]}"
    return ""


def _error_of(described: Any) -> Exception:
    """Return the built-in exception that the solution names; a RuntimeError for all others."""
    name, text = _pair(described)
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return RuntimeError(f"{name}: {text}")
    try:
        return kind(text)
    except TypeError:
        return RuntimeError(f"{name}: {text}")


def _named(described: Any) -> str:
    name, text = _pair(described)
    return f"{name}: {text}" if text else name


def _pair(described: Any) -> tuple[str, str]:
    if isinstance(described, list) and len(described) == 2:
        return str(described[0])[:80], str(described[1])[:200]
    return "Exception", "unreadable"


def _write_back(args: tuple[Any, ...], after: Any) -> None:
    """Give lists, dicts and sets among the arguments the content they have over there."""
    if not isinstance(after, tuple) or len(after) != len(args):
        raise NotPlainError("arguments do not come back")
    for mine, theirs in zip(args, after, strict=True):
        if type(mine) is not type(theirs) or mine is theirs:
            continue
        if isinstance(mine, list):
            mine[:] = theirs
        elif isinstance(mine, (dict, set)):
            mine.clear()
            mine.update(theirs)


def _holds_opaque(tagged: Any) -> bool:
    if not isinstance(tagged, list):
        return False
    return (len(tagged) == 2 and tagged[0] == "o") or any(map(_holds_opaque, tagged))


def _limit(limits: Limits) -> None:
    for name, value in (
        (resource.RLIMIT_AS, 2 * limits.memory_mb * _MB),
        (resource.RLIMIT_CPU, int(limits.wall_s) + 2),
        (resource.RLIMIT_FSIZE, limits.file_mb * _MB),
        (resource.RLIMIT_CORE, 0),
    ):
        set_limit(name, value)
