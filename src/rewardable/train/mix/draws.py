"""Which rows come next: seeded passes over fixed rows, and a budget of tokens. No torch here."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rewardable.errors import DataError


class Budget:
    """Tokens that a source may still take; whole rows overdraw it, and the next draw pays.

    After any number of draws what was taken exceeds what was granted by less than one row.
    """

    def __init__(self) -> None:
        self.left = 0.0

    def take(self, granted: float, rows: Iterable[int], length: Callable[[int], int]) -> list[int]:
        """Return rows, in their order, until the budget is used up.

        If ``rows`` ends before, what is left is forgotten.
        """
        self.left += granted
        taken: list[int] = []
        source = iter(rows)
        while self.left > 0:
            row = next(source, None)
            if row is None:
                self.left = 0.0
                break
            taken.append(row)
            self.left -= length(row)
        return taken


class RowDraws:
    """Passes over ``count`` rows, each in another seeded order; every row once a pass."""

    def __init__(self, count: int, seed: str) -> None:
        if count < 1:
            raise DataError("no rows to draw from.")
        self._count, self._seed = count, seed
        self.place = 0
        self._pass, self._order = -1, list[int]()

    def __iter__(self) -> RowDraws:
        """Return itself: it never ends."""
        return self

    def __next__(self) -> int:
        """Return the next row."""
        number, within = divmod(self.place, self._count)
        if number != self._pass:
            rng = random.Random(f"rows {self._seed} {number}")
            self._pass, self._order = number, rng.sample(range(self._count), self._count)
        self.place += 1
        return self._order[within]


class Draws:
    """The rows of a supervised source, by tokens or by number; can be saved and resumed."""

    def __init__(self, lengths: Sequence[int], seed: str) -> None:
        self._lengths = tuple(lengths)
        self._rows, self._budget = RowDraws(len(lengths), seed), Budget()

    def tokens(self, granted: float) -> list[int]:
        """Return rows of about ``granted`` tokens (see :class:`Budget`)."""
        return self._budget.take(granted, self._rows, self._lengths.__getitem__)

    def rows(self, count: int) -> list[int]:
        """Return ``count`` rows."""
        return [next(self._rows) for _ in range(count)]

    def state(self) -> dict[str, Any]:
        """Return where it stands."""
        return {"place": self._rows.place, "left": self._budget.left}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from ``state``."""
        self._rows.place, self._budget.left = int(state["place"]), float(state["left"])
