"""A reward function that is watched: what it pays passes through unchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rewardable.train.rewards import completion_text, group_size


class Watched:
    """Wraps a reward function of TRL's signature and counts what passes.

    success_at: a reward from here on counts as a success. None and NaN count as no reward.
    """

    def __init__(self, function: Any, success_at: float = 1.0) -> None:
        self._function, self._success_at = function, success_at
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._paid: list[float] = []
        self._distinct: list[float] = []
        self.none = 0

    def __call__(self, *args: Any, **given: Any) -> Any:
        """Return what the function returns."""
        paid = self._function(*args, **given)
        completions = given.get("completions", args[1] if len(args) > 1 else ())
        prompts = given.get("prompts", args[0] if args else ())
        self._count(paid, [completion_text(one) for one in completions], list(map(repr, prompts)))
        return paid

    def numbers(self) -> Mapping[str, float]:
        """Return what was seen since the last call: success rate and distinct outputs a group."""
        found: dict[str, float] = {}
        if self._paid:
            right = sum(one >= self._success_at for one in self._paid)
            found["reward/success"] = right / len(self._paid)
        if self._distinct:
            found["distinct_outputs"] = sum(self._distinct) / len(self._distinct)
        self._paid, self._distinct = [], []
        return found

    def _count(self, paid: Sequence[Any], texts: Sequence[str], prompts: Sequence[str]) -> None:
        known = [float(one) for one in paid if one is not None and not math.isnan(one)]
        self.none += len(paid) - len(known)
        self._paid += known
        size = group_size(prompts) if prompts else 0
        for first in range(0, len(texts), size or len(texts) or 1):
            group = texts[first : first + size] if size else texts
            self._distinct.append(float(len(set(group))))
