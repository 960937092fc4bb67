"""Run a solution against tests in processes of their own; the one entry to ``box``.

Three processes a run: a supervisor, a referee with the tests, and the solution's. Which walls
stand depends on the system: see :func:`isolation`. They are ``processes``, ``network``, ``ipc``,
``files`` (an own root, or rules that allow the interpreter for reading and one folder for
writing), ``user`` and ``calls`` (a system-call filter). Limits on time, memory, processes, files
and output hold everywhere.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rewardable.errors import BoundaryError
from rewardable.tasks.code.box.jail import Limits

_PATIENCE_S = 20.0
_BOX = (
    "import sys, types\n"
    "for name, path in zip(sys.argv[2::2], sys.argv[3::2]):\n"
    "    module = types.ModuleType(name)\n"
    "    module.__path__ = [path]\n"
    "    sys.modules[name] = module\n"
    "from rewardable.tasks.code.box.main import main\n"
    "main(sys.argv[1])\n"
)
"""Starts the box without the package's own imports, which would cost more than the box."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeTests:
    """What a solution must pass. ``setup``: trusted definitions that the tests use.

    in_place: what a call does to its arguments comes back to the tests.
    """

    tests: str
    entry_point: str
    setup: str = ""
    in_place: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What the referee saw. ``end``: done, timeout, memory; anything else is no verdict."""

    units: int
    passed: int
    loaded: bool
    fault: str
    end: str
    walls: tuple[str, ...] = field(default=())


def run_tests(
    program: str,
    tests: CodeTests,
    *,
    limits: Limits | None = None,
    require: tuple[str, ...] = ("network",),
    namespaces: bool = True,
) -> Report:
    """Run ``program`` against ``tests``.

    require: walls without which nothing is run. namespaces: False leaves them out.

    Raises
    ------
    BoundaryError: the box gave no report, or refused: no such wall here, tests that cannot run.
    """
    limits = limits or Limits()
    with (
        _file(program.encode("utf-8", "surrogatepass")) as code,
        _file(json.dumps(asdict(tests)).encode()) as told,
        _folder() as folder,
    ):
        job = {
            "limits": limits._asdict(),
            "code_fd": code.fileno(),
            "tests_fd": told.fileno(),
            "folder": folder,
            "uid": 1_000_000_000 + secrets.randbelow(1_000_000_000),
            "packages": [sysconfig.get_paths()["purelib"]],
            "namespaces": namespaces,
            "required": list(require),
        }
        raw = _run_box(job, limits)
    return _report(raw)


def isolation() -> tuple[str, ...]:
    """Return the walls that stand on this system, found by a run."""
    tests = CodeTests(tests="assert f() == 1", entry_point="f")
    return run_tests("def f(): return 1", tests, require=()).walls


def _run_box(job: dict[str, Any], limits: Limits) -> dict[str, Any]:
    package = Path(__file__).resolve().parents[2]
    modules = {
        "rewardable": package,
        "rewardable.tasks": package / "tasks",
        "rewardable.tasks.code": package / "tasks" / "code",
    }
    names = [str(part) for item in modules.items() for part in item]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOX, json.dumps(job), *names],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(job["code_fd"], job["tests_fd"]),
        env=_environment(),
        cwd="/",
        start_new_session=True,
    )
    try:
        out, complaints = process.communicate(timeout=limits.wall_s + _PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise BoundaryError("code sandbox", "the supervisor did not end in time") from error
    finally:
        _stop(process)
    try:
        return json.loads(out)
    except ValueError as error:
        last = complaints.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise BoundaryError("code sandbox", f"no report: {last[:200]}") from error


def _report(raw: dict[str, Any]) -> Report:
    end, fault = str(raw["end"]), str(raw["fault"])
    if end not in ("done", "timeout", "memory"):
        raise BoundaryError("code sandbox", fault or end)
    if not raw["units"]:
        raise BoundaryError("code sandbox", "tests: no assertion in them")
    return Report(
        units=int(raw["units"]),
        passed=int(raw["passed"]),
        loaded=bool(raw.get("loaded")),
        fault=fault,
        end=end,
        walls=tuple(raw["walls"]),
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a supervisor that is still there; asked first, so that it ends its descendants."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _environment() -> dict[str, str]:
    """Return the whole environment of the box: nothing of the caller's."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/box",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


@contextmanager
def _file(content: bytes) -> Generator[BinaryIO]:
    """Yield a file without a name that holds ``content``, at its beginning."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        os.lseek(file.fileno(), 0, os.SEEK_SET)
        yield file


@contextmanager
def _folder() -> Generator[str]:
    path = tempfile.mkdtemp(prefix="solution-")
    try:
        yield path
    finally:
        try:
            os.rmdir(path)
        except OSError:
            _remove(path)


def _remove(path: str) -> None:
    """Remove what a solution left; what takes long goes on without us."""
    remover = subprocess.Popen(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL)
    try:
        remover.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return
