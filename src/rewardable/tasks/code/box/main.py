"""The supervisor: starts referee and solution, watches time and memory, kills all descendants.

It reads neither tests nor code: each process gets its own file. Its standard output is one JSON
object (see ``sandbox``).
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from rewardable.tasks.code.box.jail import Limits, become_supervisor, enter_namespaces
from rewardable.tasks.code.box.processes import descendants, memory_mb
from rewardable.tasks.code.box.referee import Solution, referee
from rewardable.tasks.code.box.solution import Cell, serve

_START_S = 10.0
_LOOK_EVERY_S = 0.1


def main(text: str) -> None:
    """Run one job: ``text`` is its JSON, with the files of code and tests as descriptors."""
    job = json.loads(text)
    limits = Limits(**job["limits"])
    children: list[int] = []
    report_fd = _silence()
    become_supervisor(signal.SIGTERM)
    signal.signal(signal.SIGTERM, partial(_killed, children, job["folder"]))
    calls_out, calls_in = os.pipe()
    replies_out, replies_in = os.pipe()
    news_out, news_in = os.pipe()
    children.append(os.fork())
    if children[-1] == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close(job["code_fd"], calls_out, replies_in, news_out, report_fd)
        _judge(job, limits, calls_in, replies_out, news_in)
    _close(job["tests_fd"], calls_in, replies_out, news_in)
    walls = enter_namespaces() if job["namespaces"] else []
    children.append(os.fork())
    if children[-1] == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close(news_out, report_fd)
        serve(_cell(job, limits, walls), job["code_fd"], calls_out, replies_in)
    _close(job["code_fd"], calls_out, replies_in)
    report = _watch(news_out, limits)
    _kill_all(children)
    os.write(report_fd, json.dumps(report).encode())


def _cell(job: dict[str, Any], limits: Limits, walls: list[str]) -> Cell:
    return Cell(
        folder=job["folder"],
        uid=job["uid"],
        limits=limits,
        packages=tuple(job["packages"]),
        walls=tuple(walls),
    )


def _judge(
    job: dict[str, Any], limits: Limits, calls_in: int, replies_out: int, news_in: int
) -> NoReturn:
    with os.fdopen(job["tests_fd"], "rb") as file:
        job |= json.loads(file.read())
    news = os.fdopen(news_in, "wb")

    def tell(message: dict[str, Any]) -> None:
        news.write(json.dumps(message).encode() + b"\n")
        news.flush()

    referee(Solution(calls_in, replies_out), job, limits, tell)
    os._exit(0)


def _watch(news: int, limits: Limits) -> dict[str, Any]:
    """Collect the referee's news until it is done, or until a limit is passed."""
    report: dict[str, Any] = {"units": None, "passed": 0, "fault": "", "walls": [], "end": ""}
    deadline, started, rest = time.monotonic() + _START_S, False, b""
    look = time.monotonic() + _LOOK_EVERY_S
    while not report["end"]:
        wait = min(_LOOK_EVERY_S, deadline - time.monotonic())
        if select.select([news], [], [], max(0.0, wait))[0]:
            data = os.read(news, 65536)
            if not data:
                report["end"] = "referee died"
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                _take(report, json.loads(line))
            if report["units"] is not None and not started:
                started, deadline = True, time.monotonic() + limits.wall_s
        now = time.monotonic()
        if not report["end"] and now >= deadline:
            report["end"] = "timeout" if started else "start"
        elif not report["end"] and now >= look:
            look = now + _LOOK_EVERY_S
            too_much = memory_mb(os.getpid()) > limits.memory_mb * 1.5
            report["end"] = "memory" if too_much else ""
    return report


def _take(report: dict[str, Any], message: dict[str, Any]) -> None:
    for key in ("walls", "units", "loaded"):
        if key in message:
            report[key] = message[key]
    report["passed"] += bool(message.get("passed"))
    report["fault"] = report["fault"] or message.get("fault", "")
    if "refused" in message:
        report |= {"end": "refused", "fault": message["refused"]}
    elif message.get("done"):
        report["end"] = "done"


def _kill_all(children: list[int]) -> None:
    """Kill every descendant, also those that left group and session, and wait for them."""
    while True:
        for pid in {*children, *descendants(os.getpid())}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            done = os.waitpid(-1, os.WNOHANG)[0]
        except ChildProcessError:
            return
        if done in children:
            children.remove(done)
        if done == 0:
            time.sleep(0.002)


def _killed(children: list[int], folder: str, number: int, frame: object) -> NoReturn:
    """End in the place of a parent that died: nothing runs on, no empty folder stays."""
    _kill_all(children)
    with suppress(OSError):
        os.rmdir(folder)
    os._exit(1)


def _silence() -> int:
    """Return the report's channel; the standard streams lead nowhere from here on."""
    report_fd = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return report_fd


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
