"""Draws the rows of all waiting requests together, one batch after the other."""

from __future__ import annotations

import queue
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rewardable.engines.serving.asking import Asked
from rewardable.protocols import Sampler, SampleRequest, Scorer, ScoreRequest, TokenScores
from rewardable.records import Completion

GATHER_S = 0.005
"""How long a first request waits for others to be drawn with it."""
Found = tuple[int, int, Completion]
"""Place of the prompt in the request, number of the row, completion."""


@dataclass(eq=False)
class Ticket:
    """A request that waits for its rows; an exception among them ends it, None closes it."""

    asked: Asked
    rows: queue.SimpleQueue[Found | Exception | None] = field(default_factory=queue.SimpleQueue)

    def completions(self) -> Iterator[Found]:
        """Yield the rows as they come."""
        while (row := self.rows.get()) is not None:
            if isinstance(row, Exception):
                raise row
            yield row


class Worker:
    """Owns the engine: it is used by one thread at a time.

    A row is drawn by (prompt, seed + its number) alone, so requests of any seeds share a batch
    and a row is the same whatever is drawn beside it.
    """

    def __init__(self, engine: Sampler) -> None:
        self.engine = engine
        self._using = threading.Lock()
        self._waiting: deque[Ticket] = deque()
        self._news = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, asked: Asked) -> Ticket:
        """Queue a request."""
        ticket = Ticket(asked)
        with self._news:
            self._waiting.append(ticket)
            self._news.notify()
        return ticket

    def score(self, scorer: Scorer, request: ScoreRequest) -> TokenScores:
        """Return the scores of one request, between two batches."""
        with self._using:
            (scores,) = scorer.score([request])
        return scores

    def close(self) -> None:
        """End the thread after the batch that it is at."""
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            try:
                with self._using:
                    self._draw(batch)
            except Exception as error:  # noqa: BLE001 - handed on to every client of the batch
                for ticket in batch:
                    ticket.rows.put(error)
            for ticket in batch:
                ticket.rows.put(None)

    def _next(self) -> list[Ticket] | None:
        """Return the oldest ticket and all others under its specification; None at the end."""
        with self._news:
            self._news.wait_for(lambda: self._waiting or self._closed)
            if self._closed:
                return None
        time.sleep(GATHER_S)
        with self._news:
            spec = self._waiting[0].asked.spec
            batch = [ticket for ticket in self._waiting if ticket.asked.spec == spec]
            self._waiting = deque(t for t in self._waiting if t.asked.spec != spec)
        return batch

    def _draw(self, batch: list[Ticket]) -> None:
        """Draw every row once, also where several requests ask for it."""
        wanted: dict[str, SampleRequest] = {}
        readers: dict[tuple[str, int], list[tuple[Ticket, int, int]]] = defaultdict(list)
        for ticket in batch:
            for place, request in enumerate(ticket.asked.requests):
                key = request.prompt.key
                for number, index in enumerate(request.indices):
                    readers[key, index].append((ticket, place, number))
                known = wanted.get(key, request)
                indices = tuple(sorted({*known.indices, *request.indices}))
                wanted[key] = replace(known, indices=indices)
        for row in self.engine.sample(list(wanted.values()), batch[0].asked.spec):
            for ticket, place, number in readers[row.id.prompt_key, row.id.index]:
                ticket.rows.put((place, number, row.completion))
