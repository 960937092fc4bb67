"""One sampled signal over the looks of a run: evidence gathered, and how far it has fallen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import log
from typing import Any

import numpy as np

from rewardable.guard.anchor import Anchor, counts_of, solved_share
from rewardable.guard.betting import SHARES, fall_stakes, log_fall, look_interval
from rewardable.guard.blocks import Blocks
from rewardable.guard.config import GuardConfig
from rewardable.guard.decision import Evidence
from rewardable.guard.observation import Audit

_PLANNED = 0.9
_CAP = 10.0


def look_weight(look: int, planned: int) -> float:
    """Share of the chance that is kept for a change beginning at this look; sums to 1.

    Nine tenths lie evenly on the planned looks, the rest on all later ones.
    """
    if look <= planned:
        return _PLANNED / planned
    late = look - planned
    return (1.0 - _PLANNED) / (late * (late + 1))


@dataclass(kw_only=True)
class Purse:
    """Wealth of the bets "the mean has been below ``m``", over stakes and starting looks.

    With S the wealth of bets already begun, a look with factor e makes it (S + weight) * e; the
    e-value is mean(S) + the weight not yet used. It is a supermartingale from 1 while the mean is
    at least m at every look, so that it ever reaches 1/alpha has a chance of at most alpha. Wealth
    is cut off at ten times that, which only lowers it and lets a recovery show.
    """

    wealth: list[float] = field(default_factory=lambda: [0.0] * SHARES.size)
    spent: float = 0.0

    def bet(self, blocks: Blocks, m: float, anchor: Anchor, weight: float) -> None:
        """Take one look."""
        self.spent += weight
        if m <= 0.0:
            return
        stakes = fall_stakes(m, anchor.centre, blocks.top_P)
        grown = np.log(np.array(self.wealth) + weight) + log_fall(blocks, m, anchor.centre, stakes)
        self.wealth = np.exp(np.minimum(grown, log(_CAP / anchor.alpha))).tolist()

    @property
    def e_value(self) -> float:
        """Evidence so far; 1 is none."""
        return sum(self.wealth) / len(self.wealth) + 1.0 - self.spent

    def empty(self) -> None:
        """Give up what was gathered, after a roll-back."""
        self.wealth = [0.0] * SHARES.size


@dataclass(kw_only=True)
class Watch:
    """An anchor and the evidence against it.

    fallen: 0, 1 warn, 2 act, 3 stop. since: looks since 2 was reached. quiet: looks without
    evidence for the present level. good: the last look's estimate is within the margin.
    """

    anchor: Anchor
    loss: Purse = field(default_factory=Purse)
    ruin: Purse = field(default_factory=Purse)
    looks: int = 0
    fallen: int = 0
    since: int = 0
    quiet: int = 0
    good: bool = True
    last: Evidence | None = None

    def look(self, audit: Audit, config: GuardConfig) -> None:
        """Judge one fresh audit of the anchor's prompts."""
        anchor = self.anchor
        blocks = anchor.blocks(audit)
        self.looks += 1
        weight = look_weight(self.looks, config.looks)
        self.loss.bet(blocks, anchor.bound * (1.0 - config.tolerated), anchor, weight)
        self.ruin.bet(blocks, anchor.bound * (1.0 - config.stop_at), anchor, weight)
        value = float(blocks.value.mean())
        solved = anchor.kind == "trainability" and self._solved_instead(audit, value)
        self.good = solved or value >= anchor.start * (1.0 - config.tolerated)
        level = self._level(config)
        self._settle(min(level, 1) if solved else level, config)
        self.last = self._evidence(audit, blocks, weight, solved)

    def _level(self, config: GuardConfig) -> int:
        needed = 1.0 / self.anchor.alpha
        if self.ruin.e_value >= needed:
            return 3
        if self.loss.e_value >= needed:
            return 2
        return int(self.loss.e_value >= max(needed * config.alpha / config.warn_alpha, 1.5))

    def _settle(self, level: int, config: GuardConfig) -> None:
        """Rise at once, fall back after ``calm`` looks, escalate after ``patience`` looks."""
        self.since = self.since + 1 if self.fallen >= 2 and level >= 2 else 0
        if self.since >= config.patience:
            level = 3
        self.quiet = self.quiet + 1 if level < self.fallen else 0
        if level > self.fallen or self.quiet >= config.calm:
            self.fallen, self.quiet = level, 0

    def _solved_instead(self, audit: Audit, value: float) -> bool:
        """Most of the lost variation went to groups that are all right."""
        fall = self.anchor.start - value
        solved = solved_share(audit, self.anchor.keys, self.anchor.size) - self.anchor.solved
        return fall > 0 and solved > fall / 2

    def _evidence(self, audit: Audit, blocks: Blocks, weight: float, solved: bool) -> Evidence:
        anchor = self.anchor
        low, high = look_interval(blocks, anchor.centre, log(1.0 / (anchor.alpha * weight)))
        return Evidence(
            signal=anchor.name,
            task=anchor.task,
            value=float(blocks.value.mean()) * anchor.unit,
            start_value=anchor.start * anchor.unit,
            low=low * anchor.unit,
            high=high * anchor.unit,
            level=1.0 - anchor.alpha,
            e_value=self.loss.e_value,
            threshold=1.0 / anchor.alpha,
            n_prompts=len(anchor.keys),
            n_rollouts=int(counts_of(audit, anchor.keys)[0].sum()),
            fallen=self.fallen,
            note="groups became all right: solved, not lost" if solved else anchor.method,
        )

    def forget(self) -> None:
        """After a roll-back: gather evidence anew. What was spent stays spent."""
        self.loss.empty()
        self.ruin.empty()
        self.fallen = self.since = self.quiet = 0
        self.last = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "anchor": self.anchor.to_dict()}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Watch:
        """Read what :meth:`to_dict` gave."""
        last = raw["last"]
        parts: dict[str, Any] = {
            "anchor": Anchor.from_dict(raw["anchor"]),
            "loss": Purse(**raw["loss"]),
            "ruin": Purse(**raw["ruin"]),
            "last": None if last is None else Evidence(**last),
        }
        return cls(**{**raw, **parts})
