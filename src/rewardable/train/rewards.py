"""Verdicts as rewards, through TRL's public reward-function signature."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rewardable.errors import ConfigError
from rewardable.protocols import Verifier
from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.train.shaping import RewardConfig, ShapedReward, shape
from rewardable.train.taps import AdvantageRule, RolloutBatch, Tap

PROMPT_KEY = "prompt_key"
"""Dataset column that carries the prompt's key to the reward function."""

OnShaped = Callable[[Sequence[ShapedReward]], None]

NOTICE_AFTER = 256
"""Answers after which a format part that never varied is worth a notice."""


class VerdictReward:
    """A TRL reward function: verifies each completion; an ungraded one gets None, never 0.

    ``last`` holds the shaped rewards of the latest call, each beside its raw verdict; ``on_shaped``
    is told them after every call. A group is what one call holds of one prompt. ``taps`` see the
    whole batch, and what they return is logged; ``advantage`` replaces the rewards by advantages
    (see :data:`rewardable.train.taps.AdvantageRule`). end_ids: tokens that end a completion; with
    none given nothing counts as truncated. group: completions of a group; 0 reads it off the rows.
    """

    __name__ = "verdict"

    def __init__(
        self,
        verifier: Verifier,
        prompts: Mapping[str, Prompt],
        config: RewardConfig | None = None,
        on_shaped: OnShaped | None = None,
        *,
        taps: Sequence[Tap] = (),
        advantage: AdvantageRule | None = None,
        end_ids: Sequence[int] = (),
        group: int = 0,
    ) -> None:
        self._verifier = verifier
        self._prompts = prompts
        self._config = config or RewardConfig()
        self._on_shaped = on_shaped
        self._taps = tuple(taps)
        self._advantage = advantage
        self._end_ids, self._group = frozenset(end_ids), group
        self._formats: dict[float, int] = {}
        self.last: tuple[ShapedReward, ...] = ()

    def __call__(
        self,
        completions: Sequence[Any],
        *,
        prompt_key: Sequence[str],
        completion_ids: Sequence[Sequence[int]] = (),
        trainer_state: Any = None,
        log_metric: Callable[[str, float], None] | None = None,
        **_: Any,
    ) -> list[float | None]:
        """Return one reward a completion. Extra dataset columns are ignored.

        Raises
        ------
        ConfigError: verdicts lack a part that the configuration weighs, or a group is split.
        """
        texts = [completion_text(completion) for completion in completions]
        verdicts = [
            judged(self._verifier, self._prompts[key], text)
            for key, text in zip(prompt_key, texts, strict=True)
        ]
        self.last = tuple(shape(self._config, prompt_key, texts, verdicts))
        self._note_formats()
        if self._on_shaped is not None:
            self._on_shaped(self.last)
        if not self._taps and self._advantage is None:
            return [shaped.reward for shaped in self.last]
        step = 0 if trainer_state is None else int(trainer_state.global_step)
        batch = self._batch(step, prompt_key, texts, completion_ids)
        self._tell(batch, log_metric)
        return list(batch.rewards if self._advantage is None else self._advantage(batch))

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

    def _batch(
        self,
        step: int,
        keys: Sequence[str],
        texts: Sequence[str],
        token_ids: Sequence[Sequence[int]],
    ) -> RolloutBatch:
        ids = tuple(tuple(int(token) for token in row) for row in token_ids)
        ids = ids or ((),) * len(texts)
        cut = tuple(bool(self._end_ids and row and row[-1] not in self._end_ids) for row in ids)
        return RolloutBatch(
            step=step,
            group_size=whole_groups(keys, self._group) if self._group else group_size(keys),
            prompt_keys=tuple(keys),
            texts=tuple(texts),
            token_ids=ids,
            truncated=cut,
            shaped=self.last,
        )

    def _tell(self, batch: RolloutBatch, log_metric: Callable[[str, float], None] | None) -> None:
        for tap in self._taps:
            for name, value in tap(batch).items():
                if log_metric is not None and not math.isnan(value):
                    log_metric(name, float(value))

    def _note_formats(self) -> None:
        for shaped in self.last:
            value = shaped.verdict.parts.get(self._config.format_part)
            if value is not None:
                self._formats[value] = self._formats.get(value, 0) + 1


def judged(verifier: Verifier, prompt: Prompt, text: str) -> Verdict:
    """Return the verdict; a verifier that raises gives UNGRADED with its reason."""
    try:
        return verifier.verify(prompt, Completion(text=text))
    except Exception as error:  # noqa: BLE001 - the named boundary: the verifier
        return Verdict(
            outcome=Outcome.UNGRADED,
            reason=f"{type(error).__name__}: {error}",
            verifier=verifier.name,
            version=verifier.version,
        )


def group_size(keys: Sequence[str]) -> int:
    """Return how many rows a group has: equal runs of equal keys.

    The same prompt drawn twice in a row is told by the shortest run.

    Raises
    ------
    ConfigError: the rows are no whole groups, as when processes share one.

    >>> group_size(["a", "a", "b", "b", "b", "b"])
    2
    """
    runs: list[int] = []
    for place, key in enumerate(keys):
        if place and key == keys[place - 1]:
            runs[-1] += 1
        else:
            runs.append(1)
    size = min(runs, default=1)
    if any(run % size for run in runs):
        raise ConfigError(
            f"a group is split: runs of {sorted(set(runs))} completions of one prompt. Each "
            "process must hold whole groups: per-device batch x accumulation must be a multiple "
            "of group_size."
        )
    return size


def whole_groups(keys: Sequence[str], size: int) -> int:
    """Return ``size``; ConfigError where the rows are not whole groups of it."""
    starts = range(0, len(keys), size)
    if len(keys) % size or any(len(set(keys[start : start + size])) > 1 for start in starts):
        raise ConfigError(
            f"a group is split: {len(keys)} completions are not whole groups of {size}. Each "
            "process must hold whole groups: per-device batch x accumulation must be a multiple "
            "of group_size."
        )
    return size


def completion_text(completion: str | Sequence[Mapping[str, str]]) -> str:
    """Return the text of a TRL completion: a string, or a list of messages."""
    if isinstance(completion, str):
        return completion
    return "".join(message["content"] for message in completion)
