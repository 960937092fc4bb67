"""Decodes a batch of rows token by token. Here: what a decoder offers, and the plain one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn


@dataclass(eq=False)
class PromptState:
    """A prompt's ids and what a decoder has computed for them (filled by the decoder)."""

    ids: tuple[int, ...]
    first_logits_V: Tensor | None = None
    kept: Any = None

    def forget(self) -> None:
        """Drop what was computed; it is computed again when needed."""
        self.first_logits_V = None
        self.kept = None


@dataclass(frozen=True, kw_only=True)
class Moves:
    """How rows close ranks: row ``movers[i]`` goes to place ``holes[i]``; ``count`` rows stay."""

    holes: list[int]
    movers: list[int]
    count: int


def close_ranks(rows: int, dropped: Sequence[int]) -> Moves:
    """Plan the moves that leave the rows not ``dropped`` in the first places."""
    gone = set(dropped)
    count = rows - len(gone)
    holes = [row for row in sorted(gone) if row < count]
    movers = [row for row in range(count, rows) if row not in gone]
    return Moves(holes=holes, movers=movers, count=count)


class Decoder(Protocol):
    """Rows in places 0..rows-1; new rows come at the end."""

    @property
    def rows(self) -> int:
        """Rows in the batch now."""
        ...

    @property
    def joins_running(self) -> bool:
        """Whether rows can be added while others are being decoded."""
        ...

    def add(self, groups: Sequence[tuple[PromptState, int]]) -> Tensor:
        """Add ``count`` rows for each prompt; return the logits of their first tokens, [N, V]."""
        ...

    def step(self, ids_B: Tensor) -> Tensor:
        """Append one token to every row; return the logits of the next ones, [B, V]."""
        ...

    def drop(self, moves: Moves) -> None:
        """Forget finished rows."""
        ...


class PlainDecoder:
    """Transformers' own cache and masks: works for every causal language model.

    Prompts are left-padded; each is prefilled once and its cache repeated for its rows.
    """

    joins_running = False

    def __init__(self, model: nn.Module, pad_id: int) -> None:
        self.model = model
        self.pad_id = pad_id
        self.rows = 0
        self._names = set(inspect.signature(model.forward).parameters)
        self._cache: Any = None
        self._mask_BT = torch.empty(0, 0, dtype=torch.long)

    @torch.inference_mode()
    def add(self, groups: Sequence[tuple[PromptState, int]]) -> Tensor:
        """Prefill the prompts together; the batch must be empty."""
        assert self.rows == 0, "rows can only be added to an empty batch"
        device = next(self.model.parameters()).device
        width = max(len(state.ids) for state, _ in groups)
        pads = [width - len(state.ids) for state, _ in groups]
        ids_PT = torch.tensor(
            [
                [self.pad_id] * pad + list(state.ids)
                for pad, (state, _) in zip(pads, groups, strict=True)
            ],
            device=device,
        )
        mask_PT = torch.tensor([[0] * pad + [1] * (width - pad) for pad in pads], device=device)
        self._cache = None
        logits_PV = self._forward(ids_PT, mask_PT)
        rows_N = torch.repeat_interleave(torch.tensor([count for _, count in groups])).to(device)
        self._cache.reorder_cache(rows_N)
        self._mask_BT = mask_PT[rows_N]
        self.rows = len(rows_N)
        return logits_PV[rows_N]

    @torch.inference_mode()
    def step(self, ids_B: Tensor) -> Tensor:
        """Append one token to every row."""
        self._mask_BT = torch.nn.functional.pad(self._mask_BT, (0, 1), value=1)
        return self._forward(ids_B[:, None], self._mask_BT)

    @torch.inference_mode()
    def drop(self, moves: Moves) -> None:
        """Select the rows that stay."""
        self.rows = moves.count
        if not self.rows:
            self._cache = None
            return
        order_B = torch.arange(self.rows, device=self._mask_BT.device)
        order_B[moves.holes] = torch.tensor(moves.movers, dtype=torch.long, device=order_B.device)
        self._cache.reorder_cache(order_B)
        self._mask_BT = self._mask_BT[order_B]

    def _forward(self, ids_BT: Tensor, mask_BS: Tensor) -> Tensor:
        positions_BS = (mask_BS.cumsum(-1) - 1).clamp(min=0)
        cache_name = "cache" if "cache" in self._names else "past_key_values"
        inputs = {
            "position_ids": positions_BS[:, -ids_BT.shape[1] :],
            "logits_to_keep": 1,
            cache_name: self._cache,
        }
        known = {k: v for k, v in inputs.items() if k in self._names}
        output = self.model(input_ids=ids_BT, attention_mask=mask_BS, use_cache=True, **known)
        self._cache = getattr(output, cache_name)
        return output.logits[:, -1]
