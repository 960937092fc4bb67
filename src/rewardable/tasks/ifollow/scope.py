"""Which part of a completion instructions speak of: the response, or the reasoning before it."""

from __future__ import annotations

from typing import Literal

from rewardable.records import Completion, Prompt
from rewardable.tasks.answers import CLOSE, OPEN, after_reasoning, prompt_opens_reasoning

Scope = Literal["response", "reasoning"]

ANSWER = "<answer>"
NOT_CLOSED = "reasoning not closed"


def scoped(prompt: Prompt, completion: Completion, scope: Scope) -> str | None:
    """Return the text that is judged, None when a reasoning block is not closed.

    response: what follows the reasoning block; the whole completion where there is none.
    reasoning: what the block holds; where there is none, what stands before the last ``<answer>``
    tag, and without a tag the whole completion. It is empty when nothing stands there.
    """
    text = completion.text
    rest = after_reasoning(text, opened=prompt_opens_reasoning(prompt.text))
    if rest is None:
        return None
    if scope == "response":
        return rest if len(rest) == len(text) else rest.strip()
    if len(rest) < len(text):
        inside = text[: len(text) - len(rest) - len(CLOSE)]
        return inside.partition(OPEN)[2] if OPEN in inside else inside
    return text.rpartition(ANSWER)[0] if ANSWER in text else text
