"""The frozen base beside the policy, and what both say next."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

from rewardable.train.core import Forward

Ids = tuple[int, ...]


class Reference:
    """Opens the base: the trainer's own reference model, the policy without its adapter, or a copy.

    A copy is loaded on first use, once, and never trained.
    """

    def __init__(self, base: str) -> None:
        self._base = base
        self._model: Any = None

    def bind(self, trainer: Any) -> None:
        """Use the trainer's reference model where that is the base and stays as it is."""
        same = trainer.model.name_or_path == self._base and not trainer.args.sync_ref_model
        if same and trainer.ref_model is not None:
            self._model = trainer.ref_model

    @contextmanager
    def opened(self, seen: Forward) -> Generator[Any]:
        """Give the base's model, without gradients and without dropout."""
        policy = seen.accelerator.unwrap_model(seen.model)
        with torch.no_grad():
            if self._model is None and self._lies_below(policy):
                training = policy.training
                policy.eval()
                try:
                    with policy.disable_adapter():
                        yield policy
                finally:
                    policy.train(training)
            else:
                yield self._copy(policy)

    def _copy(self, policy: Any) -> Any:
        if self._model is None:
            like = next(policy.parameters())
            loaded: Any = AutoModelForCausalLM.from_pretrained(self._base, dtype=like.dtype)
            self._model = loaded.to(like.device).eval().requires_grad_(False)
        return self._model

    def _lies_below(self, policy: Any) -> bool:
        """Whether the policy is an adapter on the base itself."""
        return isinstance(policy, PeftModel) and policy.get_base_model().name_or_path == self._base


def next_logprobs(
    model: Any, prompts: Sequence[Ids], behind: Sequence[Ids], places: int, device: Any
) -> torch.Tensor:
    """Return log-probs of every next token, [R, places, V], at temperature 1.

    Place t of row r is what follows ``prompts[r]`` and the first t tokens of ``behind[r]``; places
    past the end of ``behind[r]`` hold numbers without meaning. Rows are padded on the right, so
    positions are those of generation, whatever else is in the batch.
    """
    rows = [(*prompt, *tail[: places - 1]) for prompt, tail in zip(prompts, behind, strict=True)]
    width = max(len(row) for row in rows)
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[i, : len(row)] = 1
    first = torch.tensor([len(prompt) - 1 for prompt in prompts], device=device)
    keep = width - int(first.min())
    logits_RKV = model(
        input_ids=ids.to(device), attention_mask=mask.to(device), logits_to_keep=keep
    ).logits
    place_RT = first[:, None] + torch.arange(places, device=device)[None, :] - (width - keep)
    place_RT = place_RT.clamp(max=keep - 1)
    row_R1 = torch.arange(len(rows), device=device)[:, None]
    return logits_RKV[row_R1, place_RT].float().log_softmax(dim=-1)
