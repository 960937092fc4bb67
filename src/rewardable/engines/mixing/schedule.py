"""Which checkpoint draws which row: shares that hold in every stretch of rows."""

from __future__ import annotations

import hashlib
from functools import lru_cache


@lru_cache(maxsize=64)
def one_period(weights: tuple[int, ...]) -> tuple[int, ...]:
    """Return the parts of one period's rows, by Tijdeman's rule for shares of unlike size.

    (R. Tijdeman, 1980, "The chairman assignment problem": among the parts that may have the next
    row without running ahead, the one comes that would be the first to fall behind.) After any
    number of rows no part is more than 1 - 1 / (2 K - 2) rows away from its share; in whole
    numbers here, with everything multiplied by (2 K - 2) and the period.

    >>> one_period((2, 1))
    (0, 1, 0)
    """
    period, scale = sum(weights), 2 * len(weights) - 2
    counts = [0] * len(weights)
    order: list[int] = []
    for row in range(1, period + 1):
        behind = [
            scale * (row * weight - count * period)
            for weight, count in zip(weights, counts, strict=True)
        ]
        able = [part for part, debt in enumerate(behind) if debt >= period]
        limit = (scale - 1) * period
        chosen = min(able, key=lambda part: ((limit - behind[part]) / weights[part], part))
        counts[chosen] += 1
        order.append(chosen)
    return tuple(order)


def part_of(weights: tuple[int, ...], seed: int, prompt_key: str, index: int) -> int:
    """Return the part that draws row ``index`` of a prompt.

    Every prompt starts at a place of its own in the period, drawn uniformly by (seed, prompt), so
    that each row of a random prompt falls to a part with exactly that part's weight.
    """
    order = one_period(weights)
    text = f"rewardable/{seed}/mix/{prompt_key}"
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return order[(number + index) % len(order)]
