"""Successes worth seeing again: rare ones and high-entropy ones. No torch here."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rewardable.errors import ConfigError

SEEN_ENTROPIES = 1024
"""Latest successes over which the entropy quantile is taken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayConfig:
    """Which successes are kept, and how long.

    label: the verdict label that names a family. rare_share: a success is rare if the successes of
    its family are at most this share of its group's graded answers (so a lone success in 16 is).
    entropy_quantile: it is high-entropy if its mean entropy a token is at or above this quantile
    of the latest successes'. Either is enough. capacity: rows kept. per_prompt: of one prompt.
    max_age: optimiser steps after which a row is dropped.
    """

    label: str = "solution"
    rare_share: float = 0.125
    entropy_quantile: float = 0.8
    capacity: int = 1024
    per_prompt: int = 8
    max_age: int = 200

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for name in ("rare_share", "entropy_quantile"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} must lie in [0, 1], got {getattr(self, name)}.")
        for name in ("capacity", "per_prompt", "max_age"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Success:
    """A success that may be kept. step: when it was sampled. rare: see :class:`ReplayConfig`."""

    prompt_key: str
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    family: str
    entropy: float
    rare: bool
    step: int


def rare_rows(
    families: Sequence[str | None], graded: Sequence[bool], rare_share: float
) -> list[bool]:
    """Tell which rows of one group are rare successes; the family of any other row is None.

    >>> rare_rows(["a", "a", "b", None], [True] * 4, 0.25)
    [False, False, True, False]
    """
    known = sum(graded)
    counts = {family: families.count(family) for family in families if family is not None}
    return [
        family is not None and known > 0 and counts[family] <= rare_share * known
        for family in families
    ]


class ReplayBuffer:
    """Keeps rare and high-entropy successes; the same success sampled again is made young."""

    def __init__(self, config: ReplayConfig, seed: str = "0") -> None:
        self._config, self._seed = config, seed
        self._rows: dict[tuple[tuple[int, ...], tuple[int, ...]], Success] = {}
        self._entropies: deque[float] = deque(maxlen=SEEN_ENTROPIES)

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self._rows)

    @property
    def rows(self) -> tuple[Success, ...]:
        """What is kept, oldest first."""
        return tuple(self._rows.values())

    def add(self, success: Success) -> bool:
        """Keep it if it is rare or its entropy is high; say whether it was kept."""
        bar = self._bar()
        self._entropies.append(success.entropy)
        high = bar is not None and success.entropy >= bar
        if not (success.rare or high):
            return False
        place = (success.prompt_ids, success.token_ids)
        self._rows.pop(place, None)
        self._rows[place] = success
        self._trim(success.prompt_key)
        return place in self._rows

    def draw(self, step: int, nth: int) -> list[Success]:
        """Drop what is too old; return the rest in a seeded order for the ``nth`` draw of a step.

        One row of each (prompt, family) comes before a second of any.
        """
        oldest = step - self._config.max_age
        self._rows = {place: row for place, row in self._rows.items() if row.step >= oldest}
        rng = random.Random(f"replay {self._seed} {step} {nth}")
        mixed = rng.sample(list(self._rows.values()), len(self._rows))
        turn: dict[tuple[str, str], int] = {}
        order: list[tuple[int, int]] = []
        for at, row in enumerate(mixed):
            family = (row.prompt_key, row.family)
            turn[family] = turn.get(family, 0) + 1
            order.append((turn[family], at))
        return [mixed[at] for _, at in sorted(order)]

    def state(self) -> dict[str, Any]:
        """Return everything as what JSON can hold."""
        return {
            "rows": [asdict(row) for row in self._rows.values()],
            "entropies": list(self._entropies),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Become what ``state`` was taken of."""
        self._rows = {}
        for row in state["rows"]:
            ids: dict[str, Any] = {name: tuple(row[name]) for name in ("prompt_ids", "token_ids")}
            success = Success(**{**row, **ids})
            self._rows[success.prompt_ids, success.token_ids] = success
        self._entropies = deque(state["entropies"], maxlen=SEEN_ENTROPIES)

    def _bar(self) -> float | None:
        """Return the entropy quantile (nearest rank); None before anything was seen."""
        if not self._entropies:
            return None
        ordered = sorted(self._entropies)
        return ordered[min(int(self._config.entropy_quantile * len(ordered)), len(ordered) - 1)]

    def _trim(self, prompt_key: str) -> None:
        """Drop the oldest of a prompt's most frequent family, then the oldest of all."""
        of_prompt = [row for row in self._rows.values() if row.prompt_key == prompt_key]
        if len(of_prompt) > self._config.per_prompt:
            counts: dict[str, int] = {}
            for row in of_prompt:
                counts[row.family] = counts.get(row.family, 0) + 1
            most = max(counts.values())
            self._drop(next(row for row in of_prompt if counts[row.family] == most))
        while len(self._rows) > self._config.capacity:
            self._drop(next(iter(self._rows.values())))

    def _drop(self, row: Success) -> None:
        del self._rows[row.prompt_ids, row.token_ids]
