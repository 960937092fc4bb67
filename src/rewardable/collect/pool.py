"""Judge in worker processes, which may hang or die."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from multiprocessing import connection, get_context
from typing import NamedTuple

from rewardable.collect.judge import describe_error, ungraded, without_verifier
from rewardable.collect.worker import LoadFailure, Ready, kill, serve
from rewardable.errors import BoundaryError, ConfigError
from rewardable.protocols import Verifier
from rewardable.records import Completion, Graded, Prompt, RolloutId, Verdict

CHUNK = 32
START_S = 120.0
"""How long a process may take to start and to load the verifier."""


class Job(NamedTuple):
    """One completion to judge."""

    id: RolloutId
    prompt: Prompt
    completion: Completion


def judged_in_pool(
    verifier: Verifier, jobs: Iterable[Job], *, workers: int, timeout_s: float | None
) -> Iterator[Graded]:
    """Yield a verdict for every job, in any order.

    Raises ConfigError for a verifier that cannot be pickled, BoundaryError when a process cannot
    load it.
    """
    pool = _Pool(verifier, workers=workers, timeout_s=timeout_s)
    try:
        yield from pool.run(iter(jobs))
    finally:
        pool.stop()


class _Worker:
    """A process, the jobs it holds in order, and when the first of them must be done."""

    def __init__(self, verifier: bytes) -> None:
        spawn = get_context("spawn")
        self.pipe, theirs = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(verifier, theirs))
        self.process.start()
        theirs.close()
        self.jobs: deque[Job] = deque()
        self.ready = False
        self.deadline: float | None = time.monotonic() + START_S

    def give(self, jobs: list[Job], timeout_s: float | None) -> None:
        self.jobs.extend(jobs)
        self.restart_clock(timeout_s)
        self.pipe.send([(job.prompt, job.completion) for job in jobs])

    def restart_clock(self, timeout_s: float | None) -> None:
        timed = bool(self.jobs) and timeout_s is not None
        self.deadline = time.monotonic() + (timeout_s or 0.0) if timed else None

    @property
    def late(self) -> bool:
        expired = self.deadline is not None and time.monotonic() >= self.deadline
        return expired and not self.pipe.poll()

    def stop(self) -> int | None:
        kill(self.process)
        self.pipe.close()
        return self.process.exitcode


class _Pool:
    def __init__(self, verifier: Verifier, *, workers: int, timeout_s: float | None) -> None:
        self._verifier = verifier
        self._pickled = _pickled(verifier)
        self._size = workers
        self._timeout_s = timeout_s
        self._workers: list[_Worker] = []
        self._queue: deque[Job] = deque()
        self._done: deque[Graded] = deque()

    def run(self, jobs: Iterator[Job]) -> Iterator[Graded]:
        """Keep every worker busy until all jobs have a verdict."""
        while True:
            self._feed(jobs)
            idle = not self._queue and not any(worker.jobs for worker in self._workers)
            if idle and not self._done:
                return
            while self._done:
                yield self._done.popleft()
            if not idle:
                self._collect()

    def stop(self) -> None:
        """Kill the workers."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def _feed(self, jobs: Iterator[Job]) -> None:
        self._fill_queue(jobs)
        busy = sum(bool(worker.jobs) for worker in self._workers)
        wanted = min(self._size, busy + -(-len(self._queue) // CHUNK))
        while len(self._workers) < wanted:
            self._workers.append(_Worker(self._pickled))
        for worker in self._workers:
            if worker.ready and not worker.jobs and self._queue:
                share = min(CHUNK, -(-len(self._queue) // self._size))
                worker.give([self._queue.popleft() for _ in range(share)], self._timeout_s)

    def _fill_queue(self, jobs: Iterator[Job]) -> None:
        """Queue the jobs that a verifier must see; the others are done at once."""
        for job in islice(jobs, max(0, self._size * CHUNK - len(self._queue))):
            verdict = without_verifier(self._verifier, job.completion)
            if verdict is None:
                self._queue.append(job)
            else:
                self._done.append(Graded(id=job.id, verdict=verdict))

    def _collect(self) -> None:
        deadlines = [worker.deadline for worker in self._workers if worker.deadline is not None]
        wait_s = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
        readable = connection.wait([worker.pipe for worker in self._workers], wait_s)
        for worker in [worker for worker in self._workers if worker.pipe in readable]:
            self._read(worker)
        for worker in [worker for worker in self._workers if worker.late]:
            limit = START_S if not worker.ready else self._timeout_s
            self._give_up(worker, f"timeout: {limit:g} s")

    def _read(self, worker: _Worker) -> None:
        try:
            while worker.pipe.poll():
                self._take(worker, worker.pipe.recv())
        except (EOFError, OSError):
            self._give_up(worker, "")

    def _take(self, worker: _Worker, message: object) -> None:
        if isinstance(message, Verdict):
            self._done.append(Graded(id=worker.jobs.popleft().id, verdict=message))
        elif isinstance(message, Ready):
            worker.ready = True
        elif isinstance(message, LoadFailure):
            raise BoundaryError(f"verifier {self._verifier.name}", message.why)
        worker.restart_clock(self._timeout_s)

    def _give_up(self, worker: _Worker, reason: str) -> None:
        """End a worker; the job it had in work is ungraded, the others go to another worker."""
        self._workers.remove(worker)
        code = worker.stop()
        reason = reason or f"verifier process died: exit code {code}"
        if not worker.ready:
            raise BoundaryError(f"verifier {self._verifier.name}", f"while starting, {reason}")
        if worker.jobs:
            job = worker.jobs.popleft()
            self._done.append(Graded(id=job.id, verdict=ungraded(self._verifier, reason)))
            self._queue.extend(worker.jobs)


def _pickled(verifier: Verifier) -> bytes:
    try:
        return pickle.dumps(verifier)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"verifier {verifier.name} cannot be sent to another process "
            f"({describe_error(error)}); define its class at module level, or grade with "
            "workers=0 and timeout_s=None."
        ) from error
