"""What a choice is told."""

from __future__ import annotations

from dataclasses import dataclass

from rewardable.errors import ConfigError
from rewardable.workflows.training import AuditPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoosePlan:
    """Constraints on checkpoints, as falls against the base that are still tolerated.

    policies: the base first; then checkpoints in order of training. audit: tasks and budget; its
    first task is the target, the others come later.
    support, trainability: falls of support@k (share of the prompts) and of the share of groups
    with reward variation, on every later task. held_out: fall of pass@1 on every later task.
    refusal: fall of balanced accuracy on the refusal screen.
    plasticity_task: probes learn it; empty: none. plasticity: tolerated rise of the loss at the
    end of a probe, in nats a token. seeds, steps: of the probes. reward_steps: of a GRPO run on
    the same task whose gain is shown; 0: none.
    """

    policies: tuple[str, ...]
    audit: AuditPlan
    support: float = 0.1
    trainability: float = 0.1
    held_out: float = 0.1
    refusal: float = 0.1
    plasticity_task: str = ""
    plasticity: float = 0.1
    seeds: int = 5
    steps: int = 10
    reward_steps: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if len(self.policies) < 2:
            raise ConfigError("nothing to choose from: name the base and at least one checkpoint.")
        if not self.audit.task:
            raise ConfigError("the audit needs a task: the one whose success is wanted.")
        for name in ("support", "trainability", "held_out", "refusal", "plasticity"):
            if not getattr(self, name) >= 0.0:
                raise ConfigError(f"{name} must be at least 0, got {getattr(self, name)}.")
        if self.seeds < 2:
            raise ConfigError(f"seeds must be at least 2 for an interval, got {self.seeds}.")
