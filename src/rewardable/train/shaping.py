"""What a verdict pays: binary and soft rewards, credit for the format, a penalty for likeness.

The verdict is never changed: it stays beside the reward in every :class:`ShapedReward`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rewardable.errors import ConfigError, unknown_name
from rewardable.records import Outcome, Verdict
from rewardable.train.similarity import Unit, similarity

_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardConfig:
    """How verdicts become rewards. UNGRADED is never paid, whatever the options: None.

    kind: ``binary`` pays 1 for CORRECT and 0 for WRONG. ``soft`` pays parts of it too:
    parts: weight of each named part of the verdict; the reward is their weighted mean, for right
    and wrong answers. None: CORRECT pays 1.
    partial: what a WRONG verdict is paid of its score, for answers in the middle.
    format_credit: what a WRONG answer in the right format is paid at least; format_part: the part
    that holds the format.

    diversity_weight: taken off a reward at most, when all others of the group are alike.
    diversity_threshold: from this similarity on two answers are alike. ngram, unit: of what
    (n-gram Jaccard). among: the penalty is for, and compares, ``all`` graded answers of a group,
    or the ``correct`` ones.
    """

    kind: Literal["binary", "soft"] = "binary"
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    partial: float = 0.0
    format_credit: float = 0.0
    format_part: str = "format"
    diversity_weight: float = 0.0
    diversity_threshold: float = 0.8
    ngram: int = 3
    unit: Unit = "characters"
    among: Literal["all", "correct"] = "all"

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        _one_of("kind", self.kind, ("binary", "soft"))
        _one_of("unit", self.unit, ("characters", "words"))
        _one_of("among", self.among, ("all", "correct"))
        for name in ("partial", "format_credit", "diversity_threshold"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} must lie in [0, 1], got {getattr(self, name)!r}.")
        if not 0.0 <= self.diversity_weight < float("inf"):
            raise ConfigError(f"diversity_weight must be >= 0, got {self.diversity_weight!r}.")
        if self.ngram < 1:
            raise ConfigError(f"ngram must be at least 1, got {self.ngram}.")
        self._check_soft()

    def _check_soft(self) -> None:
        if self.kind == "binary" and (self.parts or self.partial or self.format_credit):
            raise ConfigError(
                "parts, partial and format_credit are soft rewards; give kind='soft' with them."
            )
        if any(not 0.0 <= weight < float("inf") for weight in self.parts.values()):
            raise ConfigError(f"weights of parts must be >= 0, got {dict(self.parts)}.")
        if self.parts and not sum(self.parts.values()) > 0:
            raise ConfigError(f"some part must have a weight above 0, got {dict(self.parts)}.")
        if self.parts and self.partial:
            raise ConfigError("parts and partial exclude each other: pay by parts, or by score.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ShapedReward:
    """One answer: its verdict as it was given, what that pays, and what likeness took off.

    reward = base - penalty; both None where the verdict is UNGRADED or a weighted part is.
    alike: the others of its group that are alike.
    """

    prompt_key: str
    verdict: Verdict
    base: float | None
    penalty: float = 0.0
    alike: int = 0

    @property
    def reward(self) -> float | None:
        """What the trainer gets."""
        return None if self.base is None else self.base - self.penalty


def shape(
    config: RewardConfig, keys: Sequence[str], texts: Sequence[str], verdicts: Sequence[Verdict]
) -> list[ShapedReward]:
    """Return the shaped reward of every answer; answers to one prompt (equal keys) are a group.

    Raises
    ------
    ConfigError: a verdict lacks a part that is weighed (nearest names are suggested).
    """
    base = [base_reward(config, verdict) for verdict in verdicts]
    penalty, alike = np.zeros(len(keys)), np.zeros(len(keys), dtype=np.int64)
    if config.diversity_weight:
        for rows in _groups(keys):
            kept = [i for i in rows if base[i] is not None and _compared(config, verdicts[i])]
            if len(kept) > 1:
                found = alike_counts([texts[i] for i in kept], config)
                alike[kept] = found
                penalty[kept] = config.diversity_weight * found / (len(rows) - 1)
    return [
        ShapedReward(prompt_key=key, verdict=verdict, base=paid, penalty=float(off), alike=int(n))
        for key, verdict, paid, off, n in zip(keys, verdicts, base, penalty, alike, strict=True)
    ]


def base_reward(config: RewardConfig, verdict: Verdict) -> float | None:
    """Return what a verdict pays by itself; None for UNGRADED, and for an ungraded weighed part."""
    if verdict.outcome is Outcome.UNGRADED:
        return None
    correct = verdict.outcome is Outcome.CORRECT
    if config.kind == "binary":
        return float(correct)
    paid = _by_parts(config, verdict) if config.parts else float(correct)
    if correct or paid is None:
        return paid
    credit = config.format_credit * _format(config, verdict) if config.format_credit else 0.0
    return max(paid, config.partial * (verdict.score or 0.0), credit)


def _by_parts(config: RewardConfig, verdict: Verdict) -> float | None:
    values = {name: _part(verdict, name) for name in config.parts}
    total = 0.0
    for name, weight in config.parts.items():
        value = values[name]
        if weight and value is None:
            return None
        total += weight * (value or 0.0)
    return total / sum(config.parts.values())


def _format(config: RewardConfig, verdict: Verdict) -> float:
    return _part(verdict, config.format_part) or 0.0


def _part(verdict: Verdict, name: str) -> float | None:
    """Return a part. Of a WRONG verdict without parts, of which nothing was read, all are 0."""
    if not verdict.parts and verdict.outcome is Outcome.WRONG:
        return 0.0
    if name not in verdict.parts:
        has = ", ".join(sorted(verdict.parts)) or "no parts"
        raise unknown_name(
            f"part of verdicts of {verdict.verifier}:", name, verdict.parts,
            hint=f"They have: {has}.",
        )  # fmt: skip
    return verdict.parts[name]


def alike_counts(texts: Sequence[str], config: RewardConfig) -> np.ndarray[tuple[int], np.dtype]:
    """Return, for every text of a group, how many others are alike."""
    near = similarity(texts, n=config.ngram, unit=config.unit) >= config.diversity_threshold
    return near.sum(axis=1) - np.diagonal(near)


def constant_share(shaped: Sequence[ShapedReward]) -> float | None:
    """Return the share of groups whose rewards are all equal, so that nothing is learned of them.

    Compared within groups and with a tolerance: rewards that are equal up to rounding are equal.
    Groups without a graded answer are left out; None where no other is.
    """
    rewards = [row.reward for row in shaped]
    groups = _groups([row.prompt_key for row in shaped])
    known = [[r for i in rows if (r := rewards[i]) is not None] for rows in groups]
    graded = [group for group in known if group]
    if not graded:
        return None
    return sum(max(g) - min(g) <= _TOLERANCE * max(1.0, *map(abs, g)) for g in graded) / len(graded)


def _groups(keys: Sequence[str]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _compared(config: RewardConfig, verdict: Verdict) -> bool:
    return config.among == "all" or verdict.outcome is Outcome.CORRECT


def _one_of(name: str, got: str, known: Sequence[str]) -> None:
    if got not in known:
        raise unknown_name(f"value of {name}:", got, known)
