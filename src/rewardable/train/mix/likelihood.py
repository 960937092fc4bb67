"""Cross-entropy and reverse KL of answers behind prompts, by a forward pass of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """B rows: prompts padded on the left, answers on the right."""

    ids_BL: torch.Tensor
    mask_BL: torch.Tensor
    answer_mask_BT: torch.Tensor

    @property
    def n_tokens(self) -> torch.Tensor:
        """Answer tokens."""
        return self.answer_mask_BT.sum()


def batch_of(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], pad_id: int, device: Any
) -> Batch:
    """Build the batch of (prompt ids, answer ids)."""
    before = max(len(prompt) for prompt, _ in rows)
    behind = max(len(answer) for _, answer in rows)
    ids_BL = torch.full((len(rows), before + behind), pad_id, dtype=torch.long)
    mask_BL = torch.zeros_like(ids_BL)
    for row, (prompt, answer) in enumerate(rows):
        start, end = before - len(prompt), before + len(answer)
        ids_BL[row, start:end] = torch.tensor([*prompt, *answer])
        mask_BL[row, start:end] = 1
    return Batch(
        ids_BL=ids_BL.to(device),
        mask_BL=mask_BL.to(device),
        answer_mask_BT=mask_BL[:, before:].to(device),
    )


def answer_logits(model: Any, batch: Batch) -> torch.Tensor:
    """Return the float32 logits [B, T, V] from which each answer token was drawn."""
    width = batch.answer_mask_BT.size(1)
    places = batch.mask_BL.cumsum(dim=1).sub(1).clamp(min=0)
    logits = model(
        input_ids=batch.ids_BL,
        attention_mask=batch.mask_BL,
        position_ids=places,
        logits_to_keep=width + 1,
        use_cache=False,
    ).logits
    return logits[:, -width - 1 : -1].float()


def cross_entropy_sum(model: Any, batch: Batch) -> torch.Tensor:
    """Return -log p summed over the answer tokens, in nats at temperature 1."""
    logits_BTV = answer_logits(model, batch)
    wanted_BT = batch.ids_BL[:, batch.ids_BL.size(1) - logits_BTV.size(1) :]
    nll_BT = functional.cross_entropy(logits_BTV.transpose(1, 2), wanted_BT, reduction="none")
    return (nll_BT * batch.answer_mask_BT).sum()


def reverse_kl(
    student_BTV: torch.Tensor, teacher_BTV: torch.Tensor, mask_BT: torch.Tensor
) -> torch.Tensor:
    """Return KL(student || teacher) in nats over the full vocabulary, mean over answer tokens."""
    ours, theirs = student_BTV.log_softmax(-1), teacher_BTV.log_softmax(-1)
    kl_BT = (ours.exp() * (ours - theirs)).sum(-1)
    return (kl_BT * mask_BT).sum() / mask_BT.sum().clamp(min=1)
