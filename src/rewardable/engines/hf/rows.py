"""What is known of the rows being decoded: requests, drawn tokens, their log-probs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch

from rewardable.engines.hf.decoder import Moves, PromptState
from rewardable.engines.hf.draw import Drawn
from rewardable.engines.keyed import uniforms
from rewardable.protocols import SampleRequest
from rewardable.records import SamplingSpec


@dataclass(eq=False)
class Job:
    """A request, encoded, with the indices that still wait for a place."""

    request: SampleRequest
    state: PromptState
    opening: tuple[int, ...]
    limit: int
    waiting: deque[int] = field(default_factory=deque)
    prompt_key: str = ""

    def __post_init__(self) -> None:
        """Queue all indices."""
        self.waiting.extend(self.request.indices)
        self.prompt_key = self.request.prompt.key


class Rows:
    """Arrays over the places of a batch: [rows, tokens]. Place i is the decoder's row i."""

    def __init__(self, places: int, spec: SamplingSpec) -> None:
        width = spec.max_new_tokens
        self.spec = spec
        self.count = 0
        self.jobs: list[Job] = []
        self.index: list[int] = []
        self.length_B = np.zeros(places, dtype=np.int64)
        self.limit_B = np.zeros(places, dtype=np.int64)
        self.forced_BT = np.full((places, 0), -1, dtype=np.int64)
        self.uniform_BT = np.zeros((places, width), dtype=np.float64)
        self.ids_BT = np.zeros((places, width), dtype=np.int64)
        self.logprobs_BT = np.zeros((places, width), dtype=np.float32)
        self.sampling_BT = np.zeros((places, width), dtype=np.float32)
        self.entropies_BT = np.zeros((places, width), dtype=np.float32)

    def add(self, job: Job, indices: Iterable[int]) -> None:
        """Give the next places to samples of ``job``."""
        for index in indices:
            place = self.count
            self.jobs.append(job)
            self.index.append(index)
            self.length_B[place] = 0
            self.limit_B[place] = job.limit
            self.uniform_BT[place, : job.limit] = uniforms(
                self.spec.seed, job.prompt_key, index, job.limit
            )
            self._force(place, job.opening)
            self.count += 1

    def _force(self, place: int, opening: tuple[int, ...]) -> None:
        if len(opening) > self.forced_BT.shape[1]:
            more = len(opening) - self.forced_BT.shape[1]
            self.forced_BT = np.pad(self.forced_BT, ((0, 0), (0, more)), constant_values=-1)
        self.forced_BT[place] = -1
        self.forced_BT[place, : len(opening)] = opening

    def uniforms_and_forced(self, first: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what decides the next token of the places from ``first`` on."""
        places = np.arange(first, self.count)
        at_B = self.length_B[places]
        forced_B = np.full(len(places), -1, dtype=np.int64)
        inside_B = at_B < self.forced_BT.shape[1]
        forced_B[inside_B] = self.forced_BT[places[inside_B], at_B[inside_B]]
        return torch.from_numpy(self.uniform_BT[places, at_B]), torch.from_numpy(forced_B)

    def record(self, first: int, drawn: Drawn) -> None:
        """Write one drawn token to each place from ``first`` on."""
        places = np.arange(first, self.count)
        at_B = self.length_B[places]
        self.ids_BT[places, at_B] = drawn.ids_B.cpu().numpy()
        self.logprobs_BT[places, at_B] = drawn.logprobs_B.cpu().numpy()
        self.sampling_BT[places, at_B] = drawn.sampling_logprobs_B.cpu().numpy()
        self.entropies_BT[places, at_B] = drawn.entropies_B.cpu().numpy()
        self.length_B[places] += 1

    def last_ids(self) -> torch.Tensor:
        """Return the newest id of every row, shape [B]."""
        return torch.from_numpy(self.ids_BT[np.arange(self.count), self.length_B[: self.count] - 1])

    def drop(self, moves: Moves) -> None:
        """Close ranks as the decoder does."""
        arrays = (
            self.length_B, self.limit_B, self.forced_BT, self.uniform_BT,
            self.ids_BT, self.logprobs_BT, self.sampling_BT, self.entropies_BT,
        )  # fmt: skip
        for array in arrays:
            array[moves.holes] = array[moves.movers]
        for hole, mover in zip(moves.holes, moves.movers, strict=True):
            self.jobs[hole], self.index[hole] = self.jobs[mover], self.index[mover]
        del self.jobs[moves.count :], self.index[moves.count :]
        self.count = moves.count

    def requeue(self) -> None:
        """Give all places back; their samples wait again and will be the same when drawn."""
        for job, index in zip(self.jobs, self.index, strict=True):
            job.waiting.append(index)
        self.jobs.clear()
        self.index.clear()
        self.count = 0
