"""The only part that imports TRL: recipes, the reward tap, preservation methods.

``train_grpo(base, task, recipe, out)`` runs GRPO and returns the saved checkpoints. Nothing here
is imported before it is used, so ``import rewardable.train`` needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from rewardable.errors import MissingExtraError
from rewardable.protocols import Task
from rewardable.train.recipe import GRPORecipe, LoraRecipe, StepReport
from rewardable.train.shaping import RewardConfig, ShapedReward

__all__ = [
    "METHODS",
    "GRPORecipe",
    "LoraRecipe",
    "RewardConfig",
    "ShapedReward",
    "StepReport",
    "load",
    "train_grpo",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """One way to train. recipe, run, preserve, mix: ``module:attr``. takes: tables it can use.

    fixed: recipe fields that the method's name gives.
    """

    recipe: str
    run: str
    takes: frozenset[str] = frozenset()
    preserve: str = ""
    mix: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])


_T = "rewardable.train."
_ALL = frozenset({"reward", "preserve", "mix", "sources", "filter", "guard"})
METHODS: dict[str, Method] = {
    "grpo": Method(
        recipe=_T + "recipe:GRPORecipe",
        run=_T + "grpo:run_grpo",
        takes=_ALL,
        preserve=_T + "preserve:PreserveConfig",
        mix=_T + "mix:MixConfig",
        fixed={"algorithm": "grpo"},
    ),
    "rloo": Method(
        recipe=_T + "recipe:GRPORecipe",
        run=_T + "grpo:run_grpo",
        takes=_ALL,
        preserve=_T + "preserve:PreserveConfig",
        mix=_T + "mix:MixConfig",
        fixed={"algorithm": "rloo"},
    ),
    "ppo": Method(recipe=_T + "ppo:PPORecipe", run=_T + "ppo:run_ppo", takes=frozenset({"reward"})),
    "sft": Method(
        recipe=_T + "sft:SFTRecipe", run=_T + "sft:run_sft", takes=frozenset({"rollouts"})
    ),
    "dpo": Method(
        recipe=_T + "dpo:DPORecipe", run=_T + "dpo:run_dpo", takes=frozenset({"rollouts"})
    ),
    "distill": Method(
        recipe=_T + "distill:DistillRecipe",
        run=_T + "distill:run_distill",
        takes=frozenset({"teacher"}),
    ),
}
"""Ways to train, by the name that a recipe file gives as ``method``."""


def load(where: str) -> Any:
    """Import ``module:attr`` of this part; MissingExtraError where TRL or torch is missing."""
    module, _, attribute = where.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ImportError as error:
        raise MissingExtraError(
            f"training needs TRL ({error}); install it with: pip install 'rewardable[train]'"
        ) from error


def train_grpo(
    base: str,
    task: Task,
    recipe: GRPORecipe,
    out: Path,
    on_step: Callable[[StepReport], None] | None = None,
    extras: Any = None,
) -> list[Path]:
    """Train ``base`` on ``task`` by GRPO; return the checkpoint folders in order of step.

    Run again with the same arguments it continues from the last checkpoint in ``out``.
    extras: :class:`rewardable.train.extras.Extras`, what is added to the trainer.

    Raises
    ------
    MissingExtraError: TRL is not installed.
    ConfigError: the recipe cannot be meant (group size that does not divide the batch).
    """
    return load(METHODS[recipe.algorithm].run)(base, task, recipe, out, on_step, extras)
