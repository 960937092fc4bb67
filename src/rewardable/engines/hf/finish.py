"""When a row is finished, and the completion that it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rewardable.engines.hf.rows import Job, Rows
from rewardable.records import Completion, FinishReason, failed_completion

STOP_SLACK = 8
"""Tokens decoded beyond a stop string's characters: characters may take several byte tokens."""


class Finisher:
    """Knows the end ids and the stop strings.

    A row ends at its first end id, which stays part of its ids but not of its text, at a stop
    string (kept out of the text as well), or at its limit. Padding has no part in this.
    """

    def __init__(self, tokenizer: Any, eos_ids: frozenset[int], stop: tuple[str, ...]) -> None:
        self.tokenizer = tokenizer
        self.eos = np.array(sorted(eos_ids), dtype=np.int64)
        self.stop = stop
        self.window = max((len(text) for text in stop), default=0) + STOP_SLACK

    def ended(self, rows: Rows, first: int) -> list[int]:
        """Return the places from ``first`` on whose newest token ended them."""
        places = np.arange(first, rows.count)
        length_B = rows.length_B[places]
        newest_B = rows.ids_BT[places, length_B - 1]
        free_B = ~self._forced(rows, places, length_B)
        ended_B = (np.isin(newest_B, self.eos) & free_B) | (length_B >= rows.limit_B[places])
        if self.stop:
            for i in np.flatnonzero(~ended_B & free_B):
                ended_B[i] = self._has_stop(rows.ids_BT[places[i], : length_B[i]])
        return places[ended_B].tolist()

    def _forced(self, rows: Rows, places: np.ndarray, length_B: np.ndarray) -> np.ndarray:
        """Tell which rows' newest tokens belong to their opening."""
        width = rows.forced_BT.shape[1]
        inside_B = length_B <= width
        inside_B[inside_B] = rows.forced_BT[places[inside_B], length_B[inside_B] - 1] >= 0
        return inside_B

    def _has_stop(self, ids_T: np.ndarray) -> bool:
        tail = self._decode([ids_T[-self.window :].tolist()])[0]
        return any(text in tail for text in self.stop)

    def completions(
        self, rows: Rows, done: list[int], broken: set[int]
    ) -> list[tuple[Job, int, Completion]]:
        """Return the completions of the places ``done``; ``broken`` ones had logits of NaN."""
        ids = [rows.ids_BT[place, : rows.length_B[place]].tolist() for place in done]
        texts = self._decode([self._without_end(row) for row in ids])
        result: list[tuple[Job, int, Completion]] = []
        for place, row, text in zip(done, ids, texts, strict=True):
            completion = (
                failed_completion("the model gave logits that are not numbers")
                if place in broken
                else self._completion(rows, place, row, text)
            )
            result.append((rows.jobs[place], rows.index[place], completion))
        return result

    def _completion(self, rows: Rows, place: int, ids: list[int], text: str) -> Completion:
        length = len(ids)
        cut = min((at for stop in self.stop if (at := text.find(stop)) >= 0), default=-1)
        stopped = cut >= 0 or ids[-1] in self.eos
        return Completion(
            text=text[:cut] if cut >= 0 else text,
            token_ids=tuple(ids),
            logprobs=tuple(rows.logprobs_BT[place, :length].tolist()),
            sampling_logprobs=tuple(rows.sampling_BT[place, :length].tolist()),
            entropies=tuple(rows.entropies_BT[place, :length].tolist()),
            finish_reason=FinishReason.STOP if stopped else FinishReason.LENGTH,
        )

    def _without_end(self, ids: list[int]) -> list[int]:
        return ids[:-1] if ids[-1] in self.eos else ids

    def _decode(self, rows: list[list[int]]) -> list[str]:
        return self.tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
