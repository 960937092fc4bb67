"""Teacher-forced log-probs and entropies of given ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from rewardable.engines.hf.draw import Raw
from rewardable.engines.hf.memory import is_out_of_memory
from rewardable.protocols import TokenScores

LOGITS_MOST = 64 << 20
"""Logits held at once, in elements (a quarter of a GiB in float32)."""
Item = tuple[str, list[int], tuple[int, ...]]
"""Request id, prompt ids, completion ids."""


def score_items(
    logits_of: Callable[[Sequence[Item]], Tensor], items: Sequence[Item], vocabulary: int
) -> Iterator[TokenScores]:
    """Yield the scores of ``items``, longest first, in batches that bound the logits.

    ``logits_of`` returns [B, T, V]: the logits that predict each completion's ids, where T is the
    longest completion of the batch; what stands behind a shorter one is ignored.
    """
    order = sorted(items, key=lambda item: -len(item[2]))
    start, most = 0, LOGITS_MOST
    while start < len(order):
        length = max(1, len(order[start][1]) + len(order[start][2]))
        rows = max(1, most // (length * vocabulary))
        chunk = order[start : start + rows]
        try:
            scores = _score(logits_of, chunk)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or rows == 1:
                raise
            most //= 2
            continue
        yield from scores
        start += len(chunk)


@torch.inference_mode()
def _score(
    logits_of: Callable[[Sequence[Item]], Tensor], items: Sequence[Item]
) -> list[TokenScores]:
    logits_BTV = logits_of(items)
    result: list[TokenScores] = []
    for row, (name, _, ids) in enumerate(items):
        raw = Raw.of(logits_BTV[row, : len(ids)])
        logprobs_T = raw.logprobs(torch.tensor(ids, device=logits_BTV.device))
        result.append(
            TokenScores(
                id=name,
                logprobs=tuple(logprobs_T.tolist()),
                entropies=tuple(raw.entropies().tolist()),
            )
        )
    return result


def full_logits(model: Any, items: Sequence[Item]) -> Tensor:
    """Compute the logits by one plain forward pass over prompt and completion.

    Rows are padded on the right, where causal attention never looks from a real token.
    """
    device = next(model.parameters()).device
    rows = [[*prompt, *ids[:-1]] for _, prompt, ids in items]
    width = max(len(row) for row in rows)
    ids_BT = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
    sizes_B1 = torch.tensor([[len(row)] for row in rows], device=device)
    mask_BT = (torch.arange(width, device=device) < sizes_B1).long()
    logits_BSV = model(input_ids=ids_BT, attention_mask=mask_BT, use_cache=False).logits
    longest = max(len(ids) for _, _, ids in items)
    first_B1 = torch.tensor([[len(prompt) - 1] for _, prompt, _ in items], device=device)
    at_BT = (first_B1 + torch.arange(longest, device=device)).clamp(max=width - 1)
    return logits_BSV[torch.arange(len(items), device=device)[:, None], at_BT]
