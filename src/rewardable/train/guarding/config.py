"""What a run's guard looks at, how often, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewardable.errors import ConfigError
from rewardable.guard import GuardConfig


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchConfig:
    """Sampled looks at tasks that come later, and the rule that judges them.

    future_tasks: catalog names; small held-out sets. every: steps between scheduled looks; an
    early one is taken when the guard asks. prompts, n: of each task. replicates: looks before
    training, which make the start. budget: tokens that looks may sample, as a share of those that
    training sampled, beside the start; a look beyond it is put off, and said. max_new_tokens: of a
    look's completions.
    record: keep every observation in ``guard.jsonl``.
    raise_kl_by, lower_lr_by: factors of these actions; kl_most: the coefficient's bound.
    rollbacks: how often a run may be taken back. rule: what is tolerated, and what is allowed.
    """

    future_tasks: tuple[str, ...]
    every: int = 10
    prompts: int = 24
    n: int = 16
    replicates: int = 4
    budget: float = 0.25
    max_new_tokens: int = 256
    temperature: float = 1.0
    seed: int = 0
    prompts_seed: int = 0
    record: bool = True
    raise_kl_by: float = 2.0
    kl_most: float = 0.2
    lower_lr_by: float = 0.5
    rollbacks: int = 1
    rule: GuardConfig = field(default_factory=GuardConfig)

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if not self.future_tasks:
            raise ConfigError("the guard needs at least one future task: its evidence is sampled.")
        for name in ("every", "prompts", "n", "replicates", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.n < max(self.rule.support_at, self.rule.group):
            raise ConfigError(
                f"n = {self.n} samples a prompt cannot show support@{self.rule.support_at} and "
                f"trainability@{self.rule.group}: give at least as many."
            )
        if not self.budget > 0.0 or not 0.0 < self.lower_lr_by < 1.0 < self.raise_kl_by:
            raise ConfigError(
                "budget must be above 0, lower_lr_by in (0, 1) and raise_kl_by above 1, got "
                f"{self.budget}, {self.lower_lr_by}, {self.raise_kl_by}."
            )
