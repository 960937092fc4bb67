"""Writes answers in OpenAI's form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rewardable.engines.serving.asking import Asked
from rewardable.protocols import TokenReader
from rewardable.records import Completion, FinishReason

LEAST_LOGPROB = -9999.0
"""Stands for minus infinity, which JSON does not have."""
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What all parts of one answer have in common.

    prompts: ids of each prompt, where the engine tells. skipped: ids of a forced opening at the
    beginning of every completion, which the client sent and does not get back.
    """

    asked: Asked
    id: str
    created: int
    model: str
    reader: TokenReader | None
    prompts: tuple[tuple[int, ...], ...] | None
    skipped: int
    prompt_logprobs: tuple[Any, ...] = ()

    def whole(self, rows: Sequence[tuple[int, int, Completion]]) -> dict[str, Any]:
        """Return the answer with all choices."""
        choices = [self.choice(*row) for row in sorted(rows, key=lambda row: row[:2])]
        kind = "chat.completion" if self.asked.chat else "text_completion"
        return {**self._frame(kind), "choices": choices, "usage": self.usage(rows)}

    def chunks(self, row: tuple[int, int, Completion]) -> list[dict[str, Any]]:
        """Return the events of one choice, which is sent when it is finished."""
        choice = self.choice(*row)
        if not self.asked.chat:
            return [{**self._frame("text_completion"), "choices": [choice]}]
        message, reason = choice.pop("message"), choice.pop("finish_reason")
        last = {"index": choice["index"], "delta": {}, "finish_reason": reason}
        first = {**choice, "delta": message, "finish_reason": None}
        frame = self._frame("chat.completion.chunk")
        return [{**frame, "choices": [first]}, {**frame, "choices": [last]}]

    def last_chunk(self, rows: Sequence[tuple[int, int, Completion]]) -> dict[str, Any]:
        """Return the event with the usage."""
        kind = "chat.completion.chunk" if self.asked.chat else "text_completion"
        return {**self._frame(kind), "choices": [], "usage": self.usage(rows)}

    def choice(self, place: int, number: int, completion: Completion) -> dict[str, Any]:
        """Return one choice."""
        ids = completion.token_ids[self.skipped :]
        text = completion.text.removeprefix(self.asked.opening)
        stopped = completion.finish_reason is FinishReason.STOP
        found: dict[str, Any] = {
            "index": place * self.asked.n + number,
            "logprobs": self._logprobs(completion, ids) if self.asked.logprobs else None,
            "finish_reason": "stop" if stopped else "length",
        }
        if self.asked.chat:
            found["message"] = {"role": "assistant", "content": text}
        else:
            found["text"] = text
        if self.asked.token_ids:
            found["token_ids"] = list(ids)
            found["prompt_token_ids"] = list(self.prompts[place]) if self.prompts else None
        if self.asked.prompt_logprobs:
            found["prompt_logprobs"] = self.prompt_logprobs[place]
        return found

    def usage(self, rows: Sequence[tuple[int, int, Completion]]) -> dict[str, int] | None:
        """Count tokens; None where the engine does not tell the prompts' ids."""
        if self.prompts is None:
            return None
        before = sum(map(len, self.prompts))
        after = sum(len(completion.token_ids) - self.skipped for _, _, completion in rows)
        return {
            "prompt_tokens": before, "completion_tokens": after, "total_tokens": before + after,
        }  # fmt: skip

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _logprobs(self, completion: Completion, ids: Sequence[int]) -> dict[str, Any] | None:
        values = [max(value, LEAST_LOGPROB) for value in completion.logprobs[self.skipped :]]
        if self.reader is None or len(values) != len(ids):
            return None
        pieces = self.reader.pieces(ids)
        if not self.asked.chat:
            starts = [sum(map(len, pieces[:place])) for place in range(len(pieces))]
            return {
                "tokens": list(pieces), "token_logprobs": values, "top_logprobs": None,
                "text_offset": starts,
            }  # fmt: skip
        return {
            "content": [
                {
                    "token": piece, "logprob": value, "bytes": list(piece.encode()),
                    "top_logprobs": [],
                }
                for piece, value in zip(pieces, values, strict=True)
            ]
        }  # fmt: skip


def event(data: dict[str, Any]) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(data, allow_nan=False).encode() + b"\n\n"


def scored_prompt(ids: Sequence[int], logprobs: Sequence[float]) -> list[dict[str, Any] | None]:
    """Return the log-probs of a prompt's tokens; the first has none."""
    rest = zip(ids[1:], logprobs, strict=True)
    return [None, *({str(i): {"logprob": max(value, LEAST_LOGPROB)}} for i, value in rest)]
