"""Taps that see the rows of all processes, on the main one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from accelerate.utils import gather_object

from rewardable.train.processes import processes
from rewardable.train.taps import RolloutBatch, Tap


class Together:
    """A tap that gathers the batches of all processes and asks ``taps`` of the whole.

    They are asked on the main process alone, whose numbers are logged as they are. Every process
    must have this tap, at the same place.
    """

    def __init__(self, taps: Sequence[Tap]) -> None:
        self.taps = tuple(taps)
        self._processes = processes()

    def __call__(self, batch: RolloutBatch) -> dict[str, float]:
        """Return the numbers of all taps; nothing on other processes."""
        if self._processes.num_processes > 1:
            batch = joined(gather_object([batch]))
        if not self._processes.is_main_process:
            return {}
        return {name: value for tap in self.taps for name, value in tap(batch).items()}


def joined(batches: Sequence[RolloutBatch]) -> RolloutBatch:
    """Return the batches of all processes as one, in order of process."""
    return replace(
        batches[0],
        group_size=min(batch.group_size for batch in batches),
        prompt_keys=tuple(key for batch in batches for key in batch.prompt_keys),
        texts=tuple(text for batch in batches for text in batch.texts),
        token_ids=tuple(ids for batch in batches for ids in batch.token_ids),
        truncated=tuple(cut for batch in batches for cut in batch.truncated),
        shaped=tuple(row for batch in batches for row in batch.shaped),
    )
