"""What WRONG answers are paid, from soft to strict over the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewardable.errors import ConfigError
from rewardable.train.preserve.advantages import advantage_rule
from rewardable.train.shaping import RewardConfig, shape
from rewardable.train.taps import AdvantageRule, RolloutBatch


@dataclass(frozen=True, kw_only=True, slots=True)
class SoftSchedule:
    """``partial`` and ``format_credit`` go linearly from their first to their last value.

    until: the step from which the last values hold. What is not named here stays as the run's
    reward has it.
    """

    until: int
    partial: float = 0.5
    format_credit: float = 0.1
    last_partial: float = 0.0
    last_format_credit: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.until < 1:
            raise ConfigError(f"until must be at least 1, got {self.until}.")
        for name in ("partial", "format_credit", "last_partial", "last_format_credit"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ConfigError(f"{name} must lie in [0, 1], got {getattr(self, name)!r}.")

    def at(self, step: int, reward: RewardConfig) -> RewardConfig:
        """Return the reward of a step, counted from 0.

        >>> SoftSchedule(until=4).at(1, RewardConfig()).partial
        0.375
        """
        done = min(max(step, 0) / self.until, 1.0)
        partial = self.partial + done * (self.last_partial - self.partial)
        credit = self.format_credit + done * (self.last_format_credit - self.format_credit)
        return replace(reward, kind="soft", partial=partial, format_credit=credit)


def scheduled(
    schedule: SoftSchedule, reward: RewardConfig, rule: AdvantageRule | None = None
) -> AdvantageRule:
    """Return the rule that pays a batch by its step before ``rule`` (plain GRPO's) sees it."""
    inner = rule or advantage_rule()

    def repaid(batch: RolloutBatch) -> list[float | None]:
        return list(inner(pay(batch, schedule.at(batch.step, reward))))

    return repaid


def pay(batch: RolloutBatch, reward: RewardConfig) -> RolloutBatch:
    """Return the batch with its verdicts paid by another reward, group by group."""
    verdicts = [row.verdict for row in batch.shaped]
    paid = [
        row
        for rows in batch.groups
        for row in shape(
            reward,
            batch.prompt_keys[rows.start : rows.stop],
            batch.texts[rows.start : rows.stop],
            verdicts[rows.start : rows.stop],
        )
    ]
    return replace(batch, shaped=tuple(paid))
