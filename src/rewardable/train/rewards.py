"""Verdicts as rewards, through TRL's public reward-function signature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardable.protocols import Verifier
from rewardable.records import Completion, Outcome, Prompt

PROMPT_KEY = "prompt_key"
"""Dataset column that carries the prompt's key to the reward function."""

REWARD_OF = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}


class VerdictReward:
    """A TRL reward function: verifies each completion; an ungraded one gets None, never 0."""

    __name__ = "verdict"

    def __init__(self, verifier: Verifier, prompts: Mapping[str, Prompt]) -> None:
        self._verifier = verifier
        self._prompts = prompts

    def __call__(
        self, completions: Sequence[Any], *, prompt_key: Sequence[str], **_: Any
    ) -> list[float | None]:
        """Return one reward a completion. Extra dataset columns are ignored."""
        texts = [completion_text(completion) for completion in completions]
        return [self._reward(key, text) for key, text in zip(prompt_key, texts, strict=True)]

    def _reward(self, key: str, text: str) -> float | None:
        verdict = self._verifier.verify(self._prompts[key], Completion(text=text))
        return REWARD_OF[verdict.outcome]


def completion_text(completion: str | Sequence[Mapping[str, str]]) -> str:
    """Return the text of a TRL completion: a string, or a list of messages."""
    if isinstance(completion, str):
        return completion
    return "".join(message["content"] for message in completion)
