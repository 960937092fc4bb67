"""How long to wait before the next attempt, and how many requests may be under way."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_S, LONGEST_S = 0.25, 30.0


def backoff_s(attempt: int) -> float:
    """Return the pause after the ``attempt``-th failure, from 1: doubling, jittered downwards."""
    most = min(LONGEST_S, FIRST_S * 2.0 ** min(attempt - 1, 20))
    return random.uniform(most / 2, most)


def retry_after_s(value: str | None, now: datetime | None = None) -> float:
    """Read a ``Retry-After`` header, seconds or a date; 0 where there is none to read."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    aware = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (aware - (now or datetime.now(UTC))).total_seconds())


class Gate:
    """Lets requests through, fewer of them after the server had no room, slowly more again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.width = float(most)
        self._busy = 0
        self._narrowed = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def passing(self) -> AsyncGenerator[None]:
        """Wait for a place and hold it."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._busy < int(self.width))
            self._busy += 1
        try:
            yield
        finally:
            async with self._changed:
                self._busy -= 1
                self._changed.notify()

    def narrow(self) -> None:
        """Halve the width, once for the refusals that come together."""
        if time.monotonic() - self._narrowed > FIRST_S:
            self.width = max(1.0, self.width / 2)
            self._narrowed = time.monotonic()

    def widen(self) -> None:
        """Allow one more request for every round that went well."""
        self.width = min(float(self.most), self.width + 1.0 / self.width)
