"""The solution's process: build the walls, run the code, answer calls with plain data."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO, NamedTuple

from rewardable.tasks.code.box.jail import (
    Limits,
    build_root,
    die_with_parent,
    drop_privileges,
    filter_calls,
    limit,
    restrict_files,
)
from rewardable.tasks.code.box.wire import LONGEST, NotPlainError, decode, encode


class Cell(NamedTuple):
    """Where a solution runs. ``walls`` are those that its supervisor has built already."""

    folder: str
    uid: int
    limits: Limits
    packages: tuple[str, ...]
    walls: tuple[str, ...]


def serve(cell: Cell, code_fd: int, calls_fd: int, replies_fd: int) -> None:
    """Say which walls stand, wait for the word, run the code, answer every call; never returns.

    The code is handed over as a file that is read after the word and closed before it runs; no
    other file than the two pipes is open.
    """
    die_with_parent()
    walls = _wall_in(cell)
    calls, replies = os.fdopen(calls_fd, "rb"), os.fdopen(replies_fd, "wb")
    _send(replies, {"walls": walls})
    if not calls.readline():
        os._exit(0)
    with os.fdopen(code_fd, "rb") as file:
        source = file.read().decode("utf-8", "surrogatepass")
    sys.path.extend(path for path in cell.packages if path not in sys.path)
    sys.setrecursionlimit(1000)
    namespace: dict[str, Any] = {"__name__": "solution", "__builtins__": __builtins__}
    error = _run(source, namespace)
    _send(replies, {"loaded": error is None, "error": error})
    while error is None:
        line = calls.readline()
        if not line:
            break
        _send(replies, _answer(namespace, json.loads(line)))
    os._exit(0)


def _wall_in(cell: Cell) -> list[str]:
    walls, landlock = list(cell.walls), False
    if walls and build_root(cell.folder, cell.limits, cell.packages):
        walls.append("files")
    else:
        if os.geteuid() == 0:
            os.chown(cell.folder, cell.uid, cell.uid)
        os.chdir(cell.folder)
        landlock = restrict_files(cell.folder, cell.packages)
        walls += ["files"] if landlock else []
    own_user = drop_privileges(cell.uid, reads_all=landlock)
    die_with_parent()
    limit(cell.limits, own_count=own_user or "user" in walls)
    if filter_calls():
        walls += ["calls"] if "network" in walls else ["calls", "network"]
    return walls


def _run(source: str, namespace: dict[str, Any]) -> list[str] | None:
    """Execute the code; return [exception, message] when it raises."""
    try:
        exec(compile(source, "solution.py", "exec"), namespace)
    except BaseException as error:  # noqa: BLE001 - the named boundary: model-written code
        return _described(error)
    return None


def _answer(namespace: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    """Call the function; every way to fail is an answer too."""
    try:
        arguments, named = decode(call["args"]), decode(call["named"])
        value = namespace[call["name"]](*arguments, **named)
        after = encode(arguments) if call["in_place"] else None
        return {"id": call["id"], "value": encode(value), "args": after}
    except NotPlainError as error:
        return {"id": call["id"], "error": ["NotPlainError", str(error)]}
    except BaseException as error:  # noqa: BLE001 - the named boundary: model-written code
        return {"id": call["id"], "error": _described(error)}


def _described(error: BaseException) -> list[str]:
    try:
        return [type(error).__name__[:80], str(error)[:200].encode("ascii", "replace").decode()]
    except BaseException:  # noqa: BLE001 - an exception class of the solution's own
        return ["Exception", "without a readable message"]


def _send(replies: BinaryIO, message: dict[str, Any]) -> None:
    data = json.dumps(message).encode()
    if len(data) > LONGEST:
        data = json.dumps(
            {"id": message.get("id"), "error": ["NotPlainError", "too long"]}
        ).encode()
    replies.write(data + b"\n")
    replies.flush()
