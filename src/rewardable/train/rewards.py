"""Verdicts as rewards, through TRL's public reward-function signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardable.protocols import Verifier
from rewardable.records import Completion, Prompt
from rewardable.train.shaping import RewardConfig, ShapedReward, shape

PROMPT_KEY = "prompt_key"
"""Dataset column that carries the prompt's key to the reward function."""

OnShaped = Callable[[Sequence[ShapedReward]], None]

NOTICE_AFTER = 256
"""Answers after which a format part that never varied is worth a notice."""


class VerdictReward:
    """A TRL reward function: verifies each completion; an ungraded one gets None, never 0.

    ``last`` holds the shaped rewards of the latest call, each beside its raw verdict; ``on_shaped``
    is told them after every call. A group is what one call holds of one prompt.
    """

    __name__ = "verdict"

    def __init__(
        self,
        verifier: Verifier,
        prompts: Mapping[str, Prompt],
        config: RewardConfig | None = None,
        on_shaped: OnShaped | None = None,
    ) -> None:
        self._verifier = verifier
        self._prompts = prompts
        self._config = config or RewardConfig()
        self._on_shaped = on_shaped
        self._formats: dict[float, int] = {}
        self.last: tuple[ShapedReward, ...] = ()

    def __call__(
        self, completions: Sequence[Any], *, prompt_key: Sequence[str], **_: Any
    ) -> list[float | None]:
        """Return one reward a completion. Extra dataset columns are ignored.

        Raises
        ------
        ConfigError: verdicts lack a part that the configuration weighs.
        """
        texts = [completion_text(completion) for completion in completions]
        verdicts = [
            self._verifier.verify(self._prompts[key], Completion(text=text))
            for key, text in zip(prompt_key, texts, strict=True)
        ]
        self.last = tuple(shape(self._config, prompt_key, texts, verdicts))
        self._note_formats()
        if self._on_shaped is not None:
            self._on_shaped(self.last)
        return [shaped.reward for shaped in self.last]

    @property
    def notices(self) -> tuple[str, ...]:
        """What is suspicious about the rewards so far: a format part that was always the same."""
        seen = sum(self._formats.values())
        if seen < NOTICE_AFTER or len(self._formats) > 1:
            return ()
        value = next(iter(self._formats))
        return (
            f"part {self._config.format_part!r} was {value:g} in all {seen} answers: it tells them "
            "apart in nothing. Does the verifier look for what the chat template writes itself?",
        )

    def _note_formats(self) -> None:
        for shaped in self.last:
            value = shaped.verdict.parts.get(self._config.format_part)
            if value is not None:
                self._formats[value] = self._formats.get(value, 0) + 1


def completion_text(completion: str | Sequence[Mapping[str, str]]) -> str:
    """Return the text of a TRL completion: a string, or a list of messages."""
    if isinstance(completion, str):
        return completion
    return "".join(message["content"] for message in completion)
