"""Distinct prompts from a seeded source that may run dry."""

from __future__ import annotations

from collections.abc import Callable

from rewardable.errors import DataError
from rewardable.records import Prompt

DRAWS_WITHOUT_NEWS = 5000
"""Draws in a row that bring nothing new; then the supply counts as used up."""


def distinct_prompts(
    name: str, count: int, draw: Callable[[int], Prompt | None]
) -> tuple[Prompt, ...]:
    """Return ``count`` prompts of different text, in the order in which ``draw`` brings them.

    draw: told how many are found, returns the next prompt, or None for a draw that does not
    qualify. It keeps its own random state, so a larger count continues the same sequence.

    Raises
    ------
    DataError: nothing new in thousands of draws.
    """
    found: dict[str, Prompt] = {}
    misses = 0
    while len(found) < count:
        prompt = draw(len(found))
        if prompt is None or prompt.text in found:
            misses += 1
        else:
            found[prompt.text] = prompt
            misses = 0
        if misses >= DRAWS_WITHOUT_NEWS:
            raise DataError(f"{name} has about {len(found)} prompts, got count={count}.")
    return tuple(found.values())
