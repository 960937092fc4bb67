"""The only part that imports TRL: recipes and the reward tap.

``train_grpo(base, task, recipe, out)`` runs GRPO and returns the saved checkpoints. Nothing here
is imported before it is used, so ``import rewardable.train`` needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rewardable.errors import MissingExtraError
from rewardable.protocols import Task
from rewardable.train.recipe import GRPORecipe, StepReport
from rewardable.train.shaping import RewardConfig, ShapedReward

__all__ = ["GRPORecipe", "RewardConfig", "ShapedReward", "StepReport", "train_grpo"]


def train_grpo(
    base: str,
    task: Task,
    recipe: GRPORecipe,
    out: Path,
    on_step: Callable[[StepReport], None] | None = None,
) -> list[Path]:
    """Train ``base`` on ``task`` by GRPO; return the checkpoint folders in order of step.

    Run again with the same arguments it continues from the last checkpoint in ``out``.

    Raises
    ------
    MissingExtraError: TRL is not installed.
    ConfigError: the recipe cannot be meant (group size that does not divide the batch).
    """
    try:
        from rewardable.train.grpo import run_grpo
    except ImportError as error:
        raise MissingExtraError(
            f"training needs TRL ({error}); install it with: pip install 'rewardable[train]'"
        ) from error
    return run_grpo(base, task, recipe, out, on_step)
