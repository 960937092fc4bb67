"""What is added to a trainer: loss terms, watches, taps, an advantage rule, callbacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from rewardable.errors import ConfigError
from rewardable.train.core import LossTerm, Watch
from rewardable.train.taps import AdvantageRule, Tap


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Parts in the order in which they are called. A part with ``bind(trainer)`` is given it."""

    terms: tuple[LossTerm, ...] = ()
    watches: tuple[Watch, ...] = ()
    taps: tuple[Tap, ...] = ()
    advantage: AdvantageRule | None = None
    callbacks: tuple[Any, ...] = ()

    def __add__(self, other: Extras) -> Extras:
        """Return both together; two advantage rules are refused with a ConfigError."""
        if self.advantage is not None and other.advantage is not None:
            raise ConfigError("two advantage rules for one run; give one.")
        return Extras(
            terms=self.terms + other.terms,
            watches=self.watches + other.watches,
            taps=self.taps + other.taps,
            advantage=self.advantage or other.advantage,
            callbacks=self.callbacks + other.callbacks,
        )

    def bind(self, trainer: Any) -> None:
        """Give the trainer to every part that asks for it."""
        for part in self:
            if hasattr(part, "bind"):
                part.bind(trainer)

    def __iter__(self) -> Iterator[Any]:
        """Yield every part once."""
        seen: set[int] = set()
        for entry in fields(self):
            value = getattr(self, entry.name)
            for part in value if isinstance(value, tuple) else (value,):
                if part is not None and id(part) not in seen:
                    seen.add(id(part))
                    yield part
