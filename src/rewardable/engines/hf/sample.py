"""Keeps the batch full: admits waiting samples, decodes, hands out finished rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewardable.engines.hf.decoder import Decoder, PromptState, close_ranks
from rewardable.engines.hf.draw import draw
from rewardable.engines.hf.finish import Finisher
from rewardable.engines.hf.memory import is_out_of_memory
from rewardable.engines.hf.rows import Job, Rows
from rewardable.records import Completion, SamplingSpec, failed_completion

ADMIT_SHARE = 16
"""Rows are admitted when at least one place in so many is free."""
Finished = tuple[Job, int, Completion]


class SampleLoop:
    """Decodes jobs to their end, at most ``places`` rows at once.

    An allocation that fails halves ``places``: the rows in the batch go back to the queue and are
    drawn again, to the same tokens, since every row has its own random numbers.
    """

    def __init__(
        self,
        new_decoder: Callable[[int], Decoder],
        spec: SamplingSpec,
        finisher: Finisher,
        places: int,
    ) -> None:
        self.new_decoder = new_decoder
        self.spec = spec
        self.finisher = finisher
        self.places = places
        self.queue: deque[Job] = deque()
        self.finished: list[Finished] = []
        self._restart()

    def run(self, jobs: Sequence[Job]) -> Iterator[Finished]:
        """Yield every sample of ``jobs`` as it finishes."""
        self.queue.extend(job for job in jobs if job.waiting)
        while self.queue or self.rows.count:
            try:
                self._admit()
                self._decode()
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                self._back_off()
            finished, self.finished = self.finished, []
            yield from finished

    def _restart(self) -> None:
        self.rows = Rows(self.places, self.spec)
        self.decoder = self.new_decoder(self.places)

    def _decode(self) -> None:
        """Decode one token for every row."""
        if self.rows.count:
            self._advance(0, self.decoder.step(self.rows.last_ids()))

    def _admit(self) -> None:
        """Give free places to waiting samples and draw their first tokens."""
        free = self.places - self.rows.count
        wanted = self.places // ADMIT_SHARE if self.rows.count else 1
        may_join = self.decoder.joins_running or not self.rows.count
        if not self.queue or free < max(1, wanted) or not may_join:
            return
        first = self.rows.count
        taken: list[tuple[Job, list[int]]] = []
        while self.queue and free:
            job = self.queue[0]
            indices = [job.waiting.popleft() for _ in range(min(free, len(job.waiting)))]
            free -= len(indices)
            taken.append((job, indices))
            self.rows.add(job, indices)
            if not job.waiting:
                self.queue.popleft()
        logits_BV = self.decoder.add([(job.state, len(indices)) for job, indices in taken])
        for job, _ in taken:
            if not job.waiting:
                job.state.forget()  # the decoder keeps what its rows still need
        self._advance(first, logits_BV)

    def _advance(self, first: int, logits_BV: Tensor) -> None:
        """Draw a token for the rows from ``first`` on; take out those that are finished."""
        uniforms_B, forced_B = self.rows.uniforms_and_forced(first)
        device = logits_BV.device
        with torch.inference_mode():
            drawn = draw(logits_BV, uniforms_B.to(device), forced_B.to(device), self.spec)
        self.rows.record(first, drawn)
        broken = first + np.flatnonzero(~drawn.finite_B.cpu().numpy())
        ended = self.finisher.ended(self.rows, first)
        done = sorted({*broken.tolist(), *ended})
        if not done:
            return
        finished = self.finisher.completions(self.rows, done, set(broken.tolist()))
        moves = close_ranks(self.rows.count, done)
        self.rows.drop(moves)
        self.finished += finished  # before the decoder, which may run out of memory
        self.decoder.drop(moves)

    def _back_off(self) -> None:
        """Halve the batch; a single row that does not fit is a failed row."""
        jobs = list(dict.fromkeys([*self.rows.jobs, *self.queue]))
        self.rows.requeue()
        for job in jobs:
            job.state.forget()
        if self.places == 1:
            job = jobs[0]
            reason = "out of memory with a single row"
            self.finished.append((job, job.waiting.popleft(), failed_completion(reason)))
        self.queue = deque(job for job in jobs if job.waiting)
        self.places = max(1, self.places // 2)
        self._restart()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def new_state(ids: Sequence[int]) -> PromptState:
    """Return the state of a prompt that no decoder has seen."""
    return PromptState(ids=tuple(ids))


def context_length(model: Any) -> int | None:
    """Return the most positions that the model has, or None when nothing says."""
    config = model.config.get_text_config()
    length = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    return int(length) if length else None
