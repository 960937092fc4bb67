"""One batch's optimiser updates: epochs of minibatches, each cut into micro-batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from rewardable.train.ppo.losses import divergence, policy_loss, value_loss
from rewardable.train.ppo.recipe import PPORecipe
from rewardable.train.ppo.value import Seen


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A batch ready to be learned from. old: what was said of it when it was drawn."""

    ids_BL: torch.Tensor
    mask_BL: torch.Tensor
    plays_BT: torch.Tensor
    advantage_BT: torch.Tensor
    returned_BT: torch.Tensor
    old: Seen

    @property
    def width(self) -> int:
        """Tokens of the longest completion."""
        return self.plays_BT.shape[1]


@dataclass(frozen=True, kw_only=True)
class Learner:
    """Updates policy and critic. model: the ActorCritic as accelerate wraps it."""

    accelerator: Any
    model: Any
    optimizer: Any
    recipe: PPORecipe

    def __call__(self, lesson: Lesson, rng: np.random.Generator) -> dict[str, float]:
        """Return means over tokens and updates; empty where no token takes part."""
        seen: Counter[str] = Counter()
        for _ in range(self.recipe.epochs):
            order = rng.permutation(len(lesson.plays_BT))
            for rows in np.array_split(order, self.recipe.minibatches):
                seen.update(self._update(lesson, rows))
        tokens, updates = seen.pop("tokens", 0.0), seen.pop("updates", 0.0)
        norm = seen.pop("grad_norm", 0.0)
        if not updates:
            return {}
        return {name: total / tokens for name, total in seen.items()} | {
            "grad_norm": norm / updates
        }

    def _update(self, lesson: Lesson, rows: np.ndarray) -> dict[str, float]:
        tokens = float(self._sum(lesson.plays_BT[rows].sum()))
        if not tokens:
            return {}
        seen: Counter[str] = Counter()
        for part in chunks(rows, self.recipe.micro_batch):
            loss, sums = self._loss(lesson, part)
            # accelerate averages gradients over processes: make it a mean over all their tokens
            self.accelerator.backward(loss * self.accelerator.num_processes / tokens)
            seen.update(sums)
        norm = self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad()
        names = sorted(seen)
        totals = self._sum(torch.tensor([seen[name] for name in names])).tolist()
        return dict(zip(names, totals, strict=True)) | {
            "tokens": tokens,
            "updates": 1.0,
            "grad_norm": norm,
        }

    def _loss(self, lesson: Lesson, rows: np.ndarray) -> tuple[torch.Tensor, dict[str, float]]:
        recipe, plays_BT = self.recipe, lesson.plays_BT[rows]
        now = self.model(lesson.ids_BL[rows], lesson.mask_BL[rows], lesson.width)
        old_BT = lesson.old.logp_BT[rows]
        policy, held = policy_loss(
            now.logp_BT,
            old_BT,
            lesson.advantage_BT[rows],
            plays_BT,
            recipe.clip,
            recipe.clip_high or recipe.clip,
        )
        value = value_loss(
            now.value_BU[:, :-1],
            lesson.old.value_BU[rows][:, :-1],
            lesson.returned_BT[rows],
            plays_BT,
            recipe.value_clip,
        )
        loss = policy + recipe.value_coefficient * value
        if recipe.entropy_coefficient:
            loss = loss - recipe.entropy_coefficient * now.entropy_BT[plays_BT].sum()
        moved = divergence(old_BT, now.logp_BT.detach())[plays_BT].sum()
        sums = {"policy_loss": policy, "value_loss": value, "policy_kl": moved}
        told = {name: float(part.detach()) for name, part in sums.items()}
        return loss, told | {"clip_ratio/region_mean": float(held)}

    def _clip(self) -> float:
        """Clip policy and critic apart, so that a large value error does not slow the policy."""
        whole = self.accelerator.unwrap_model(self.model)
        limit = self.recipe.max_grad_norm
        norm = self.accelerator.clip_grad_norm_(whole.policy.parameters(), limit)
        self.accelerator.clip_grad_norm_(whole.critic.parameters(), limit)
        return float(norm)

    def _sum(self, values: torch.Tensor) -> torch.Tensor:
        return self.accelerator.reduce(values.to(self.accelerator.device), reduction="sum")


def chunks(rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut ``rows`` into pieces of ``size``; 0 is one piece."""
    size = size or len(rows)
    return [rows[start : start + size] for start in range(0, len(rows), size)]
