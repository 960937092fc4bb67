"""The demonstration: GRPO on the pocket policy, live, then an audit of what it did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import ConfigError
from rewardable.tasks import load_task
from rewardable.train import GRPORecipe, train_grpo
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.config import RunConfig
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training.said import Said

INSTANCES = "numbers=4,values=1-10,targets=10-50,min_solutions=4,max_solutions=12"
TASK = f"countdown-steps:{INSTANCES},split=test"
TRAIN_TASK = f"countdown-steps:{INSTANCES},split=train"
FUTURE_TASK = f"countdown-steps-start:{INSTANCES},split=test"


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoConfig:
    """How long to train and how finely to look. Two checkpoints: the middle and the end."""

    steps: int = 100
    prompts: int = 64
    n: int = 128
    seed: int = 0
    learning_rate: float = 2e-4
    train_prompts: int = 1024

    def __post_init__(self) -> None:
        """Refuse a run without a middle with a ConfigError."""
        if self.steps < 2:
            raise ConfigError(f"steps must be at least 2, got {self.steps}.")


def demo(path: Path, config: DemoConfig, on_event: OnEvent = ignore) -> AuditResult:
    """Train in ``path/train`` and audit in ``path/audit``; goes on where it was interrupted."""
    base = resolve_source("pocket")
    recipe = GRPORecipe(
        steps=config.steps,
        save_every=(config.steps + 1) // 2,
        learning_rate=config.learning_rate,
        max_new_tokens=48,
        train_prompts=config.train_prompts,
        seed=config.seed,
    )
    on_step = Said(on_event, "GRPO on the pocket policy")
    checkpoints = train_grpo(base, load_task(TRAIN_TASK), recipe, path / "train", on_step)
    run = RunConfig(
        policies=(base, *map(str, checkpoints)),
        task=TASK,
        future_tasks=(FUTURE_TASK,),
        n=config.n,
        prompts=config.prompts,
        max_new_tokens=48,
        seed=config.seed,
    )
    return audit(path / "audit", run, on_event)
