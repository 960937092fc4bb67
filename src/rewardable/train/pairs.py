"""Preference pairs from graded rollouts. No torch here."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import lcm

from rewardable.errors import ConfigError
from rewardable.records import Outcome
from rewardable.train.rows import GradedRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two answers to one prompt: ``chosen`` is CORRECT, ``rejected`` is WRONG."""

    chosen: GradedRow
    rejected: GradedRow


def pairs(
    rows: Iterable[GradedRow], per_prompt: int, seed: int, *, spread: str = ""
) -> tuple[Pair, ...]:
    """Return up to ``per_prompt`` pairs of every prompt that has a CORRECT and a WRONG answer.

    UNGRADED rows are in no pair; of equal texts one is kept, a truncated CORRECT one is left out.
    No row is used twice before every other of its side was used, and no pair comes twice.
    spread: a label kind (``solution``, ``entry``); the chosen ones then take one of each family
    before a second of any, so that rare families are taught as often as frequent ones.

    Raises
    ------
    ConfigError: per_prompt below 1.
    """
    if per_prompt < 1:
        raise ConfigError(f"pairs per prompt must be at least 1, got {per_prompt}.")
    by_prompt: dict[str, list[GradedRow]] = {}
    for row in rows:
        by_prompt.setdefault(row.prompt.key, []).append(row)
    found: list[Pair] = []
    for key, group in by_prompt.items():
        rng = random.Random(f"pairs {seed} {key}")
        chosen = _side(group, Outcome.CORRECT, rng)
        rejected = _side(group, Outcome.WRONG, rng)
        if chosen and rejected:
            ordered = _spread(chosen, spread) if spread else chosen
            found += _matched(ordered, rejected, per_prompt)
    return tuple(found)


def _side(group: Sequence[GradedRow], outcome: Outcome, rng: random.Random) -> list[GradedRow]:
    kept: dict[str, GradedRow] = {}
    for row in group:
        unfinished = outcome is Outcome.CORRECT and row.truncated
        if row.verdict.outcome is outcome and not unfinished:
            kept.setdefault(row.text, row)
    return rng.sample(list(kept.values()), len(kept))


def _spread(chosen: Sequence[GradedRow], label: str) -> list[GradedRow]:
    families: dict[str, list[GradedRow]] = {}
    for row in chosen:
        families.setdefault(row.verdict.labels.get(label, ""), []).append(row)
    rounds = zip_longest(*families.values())
    return [row for one in rounds for row in one if row is not None]


def _matched(chosen: Sequence[GradedRow], rejected: Sequence[GradedRow], count: int) -> list[Pair]:
    a, b = len(chosen), len(rejected)
    turn = lcm(a, b)  # after so many pairs the same two would meet again: move on by one
    return [
        Pair(chosen=chosen[i % a], rejected=rejected[(i + i // turn) % b])
        for i in range(min(count, a * b))
    ]
