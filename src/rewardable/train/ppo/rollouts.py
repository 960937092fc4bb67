"""Prompts in their order, completions drawn from the policy, and what their verdicts pay."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig

from rewardable.records import Prompt
from rewardable.train.ppo.gae import Bools, Floats
from rewardable.train.ppo.recipe import PPORecipe
from rewardable.train.rewards import VerdictReward


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One process's completions of one step; B rows, L prompt and completion tokens.

    The last ``width`` places of a row are its completion. paid_B: NaN where a verdict is UNGRADED.
    """

    ids_BL: torch.Tensor
    mask_BL: torch.Tensor
    width: int
    truncated_B: Bools
    paid_B: Floats

    @property
    def places(self) -> Bools:
        """Which places of the completions hold a token."""
        return self.mask_BL[:, -self.width :].bool().cpu().numpy()


def data_order(step: int, recipe: PPORecipe) -> list[int]:
    """Return the places of the step's prompts in the pool; an epoch takes none twice.

    It depends on the seed and the step alone, so a resumed run sees what it would have seen.
    """
    steps_per_epoch = recipe.train_prompts // recipe.prompts_per_step
    epoch, place = divmod(step, steps_per_epoch)
    order = np.random.default_rng([recipe.seed, epoch]).permutation(recipe.train_prompts)
    return order[place * recipe.prompts_per_step :][: recipe.prompts_per_step].tolist()


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Draws completions and has them paid."""

    tokenizer: Any
    recipe: PPORecipe
    reward: VerdictReward
    end_ids: tuple[int, ...]

    def __call__(
        self, policy: Any, prompts: Sequence[Prompt], step: int, numbers: dict[str, float]
    ) -> Drawn:
        """Return ``group_size`` completions of each prompt; taps add to ``numbers``."""
        rows = [prompt for prompt in prompts for _ in range(self.recipe.group_size)]
        encoded = self._encode(rows).to(policy.device)
        with _plain_sampling(policy, self._sampling()), torch.no_grad():
            ids_BL = policy.generate(**encoded)
        width = ids_BL.shape[1] - encoded["input_ids"].shape[1]
        ids_BT = ids_BL[:, -width:]
        mask_BT, ended_B = completion_mask(ids_BT, self.end_ids)
        paid_B = self._pay(rows, ids_BT.cpu().numpy(), mask_BT.cpu().numpy(), step, numbers)
        return Drawn(
            ids_BL=ids_BL,
            mask_BL=torch.cat([encoded["attention_mask"], mask_BT.long()], dim=1),
            width=width,
            truncated_B=~ended_B.cpu().numpy(),
            paid_B=paid_B,
        )

    def _pay(
        self,
        rows: Sequence[Prompt],
        ids_BT: np.ndarray,
        mask_BT: Bools,
        step: int,
        numbers: dict[str, float],
    ) -> Floats:
        ids = [row[here].tolist() for row, here in zip(ids_BT, mask_BT, strict=True)]
        paid = self.reward(
            self.tokenizer.batch_decode(ids, skip_special_tokens=True),
            prompt_key=[prompt.key for prompt in rows],
            completion_ids=ids,
            trainer_state=SimpleNamespace(global_step=step),
            log_metric=numbers.__setitem__,
        )
        return np.array([np.nan if one is None else one for one in paid], dtype=np.float64)

    def _encode(self, rows: Sequence[Prompt]) -> Any:
        chat = self.tokenizer.chat_template is not None
        return self.tokenizer(
            [self._text(prompt) if chat else prompt.text for prompt in rows],
            padding=True,
            padding_side="left",
            return_tensors="pt",
            return_token_type_ids=False,
            # a chat template writes every special token itself
            add_special_tokens=not chat,
        )

    def _text(self, prompt: Prompt) -> str:
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt.messages]
        return self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)

    def _sampling(self) -> GenerationConfig:
        return GenerationConfig(
            do_sample=True,
            temperature=self.recipe.temperature,
            top_k=0,
            top_p=1.0,
            max_new_tokens=self.recipe.max_new_tokens,
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=list(self.end_ids),
        )


def completion_mask(
    ids_BT: torch.Tensor, end_ids: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (mask_BT up to and with the first end token, which rows have one).

    Ids alone decide, so a padding token that is the end token does no harm.

    >>> mask, ended = completion_mask(torch.tensor([[5, 1, 1], [5, 5, 5]]), [1])
    >>> mask.tolist(), ended.tolist()
    ([[True, True, False], [True, True, True]], [True, False])
    """
    end_BT = torch.isin(ids_BT, torch.tensor(list(end_ids), device=ids_BT.device))
    before_BT = end_BT.long().cumsum(dim=-1) - end_BT.long()
    return before_BT == 0, end_BT.any(dim=-1)


@contextmanager
def _plain_sampling(policy: Any, config: GenerationConfig) -> Generator[None]:
    """Sample as the recipe says, without penalties and cuts that the checkpoint brings along."""
    kept = policy.generation_config
    policy.generation_config = config
    try:
        yield
    finally:
        policy.generation_config = kept
