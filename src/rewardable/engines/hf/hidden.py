"""Hidden states at chosen tokens, a few sequences at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from rewardable.protocols import HiddenRequest

ELEMENTS_MOST = 32 << 20
"""Hidden values held at once, all layers together (128 MiB in float32)."""
Item = tuple[HiddenRequest, list[int]]
"""Request and its prompt's ids."""


def hidden_states(model: Any, items: Sequence[Item]) -> Iterator[tuple[str, Any]]:
    """Yield (id, float32 array [layers + 1, positions, width]) of every item, longest first."""
    config = model.config.get_text_config()
    per_token = (config.num_hidden_layers + 1) * config.hidden_size
    order = sorted(items, key=lambda item: -_length(item))
    start = 0
    while start < len(order):
        rows = max(1, ELEMENTS_MOST // (per_token * _length(order[start])))
        yield from _states(model, order[start : start + rows])
        start += rows


def _length(item: Item) -> int:
    request, prompt = item
    return len(prompt) + len(request.token_ids)


@torch.inference_mode()
def _states(model: Any, items: Sequence[Item]) -> list[tuple[str, Any]]:
    device = next(model.parameters()).device
    rows = [[*prompt, *request.token_ids] for request, prompt in items]
    width = max(map(len, rows))
    ids_BT = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
    sizes_B1 = torch.tensor([[len(row)] for row in rows], device=device)
    mask_BT = (torch.arange(width, device=device) < sizes_B1).long()
    layers = model(
        input_ids=ids_BT, attention_mask=mask_BT, use_cache=False, output_hidden_states=True
    ).hidden_states
    found: list[tuple[str, Any]] = []
    for i, (request, prompt) in enumerate(items):
        at = torch.tensor([len(prompt) + p for p in request.positions], device=device)
        kept_LPD = torch.stack([layer_BTD[i, at].float() for layer_BTD in layers])
        found.append((request.id, kept_LPD.cpu().numpy()))
    return found
