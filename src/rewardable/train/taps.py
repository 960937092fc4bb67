"""What a generation batch was, for those who look at it: logs, stores, guards, advantage rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rewardable.records import Outcome
from rewardable.train.shaping import ShapedReward


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutBatch:
    """One process's completions of one generation batch, with their verdicts; N rows.

    step: optimiser steps done before it was sampled. group_size: completions a prompt; the rows of
    a group lie together, and no group is split over processes. token_ids: ids of each completion,
    its end token included. truncated: it was cut before an end token.
    """

    step: int
    group_size: int
    prompt_keys: tuple[str, ...]
    texts: tuple[str, ...]
    token_ids: tuple[tuple[int, ...], ...]
    truncated: tuple[bool, ...]
    shaped: tuple[ShapedReward, ...]

    @property
    def groups(self) -> list[range]:
        """Rows of each group, in order."""
        size = self.group_size
        return [range(start, start + size) for start in range(0, len(self.texts), size)]

    @property
    def correct(self) -> tuple[bool, ...]:
        """Which rows are CORRECT."""
        return tuple(row.verdict.outcome is Outcome.CORRECT for row in self.shaped)

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """Shaped reward of each row; None where it could not be graded."""
        return tuple(row.reward for row in self.shaped)


Tap = Callable[[RolloutBatch], Mapping[str, float]]
"""Sees every generation batch; the numbers that it returns are logged under their names."""

AdvantageRule = Callable[[RolloutBatch], Sequence[float | None]]
"""Returns one advantage a row, with mean zero over the graded rows of each group; None: ungraded.

They reach the trainer as rewards with its own scaling off, so that its subtraction of the group's
mean changes nothing.
"""
