"""Attention over a key-value store of ours, hooked in through transformers' AttentionInterface.

A forward pass carries a ``Pass`` object as keyword argument; the attention function hands each
layer's new queries, keys and values to it. Three kinds of pass: prompts (``PrefillPass``), one
token for each row (``DecodePass``), several tokens behind one prompt (``ExtendPass``).

Shapes: B rows, H query heads, G key-value heads, R = H / G, D width, L prompt tokens, W own ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AttentionInterface

IMPLEMENTATION = "rewardable_rows"
UNSUPPORTED = ("sliding_window", "softcap", "s_aux", "position_bias")


class UnsupportedAttentionError(RuntimeError):
    """The model asks for a kind of attention that is not done here."""


class Pass(Protocol):
    """What one forward pass does in each layer."""

    def attend(self, layer: int, q_BHTD: Tensor, k_BGTD: Tensor, v_BGTD: Tensor) -> Tensor:
        """Return the attention's output, [B, H, T, D]; the queries are scaled already."""
        ...


def row_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    kv_pass: Pass | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention function in transformers' signature."""
    asked = [name for name in UNSUPPORTED if others.get(name) is not None]
    if kv_pass is None or asked or attention_mask is not None:
        raise UnsupportedAttentionError(f"asked for {asked or 'a mask or no pass'}")
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    out_BHTD = kv_pass.attend(module.layer_idx, query * scale, key, value)
    return out_BHTD.transpose(1, 2).contiguous(), None


def register() -> None:
    """Make the function known under its name; doing it again changes nothing."""
    AttentionInterface.register(IMPLEMENTATION, row_attention)


@dataclass(frozen=True)
class LayerKeys:
    """One layer's keys, transposed for the product with queries, and values, of one prompt."""

    key_GDL: Tensor
    value_GLD: Tensor


def _repeat_heads(states_BGTD: Tensor, heads: int) -> Tensor:
    return states_BGTD.repeat_interleave(heads // states_BGTD.shape[1], dim=1)


@dataclass
class PrefillPass:
    """Prompts of equal length, each attending to itself; keeps their keys and values."""

    layers: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def attend(self, layer: int, q_BHTD: Tensor, k_BGTD: Tensor, v_BGTD: Tensor) -> Tensor:
        """Causal attention."""
        self.layers[layer] = (k_BGTD, v_BGTD)
        heads = q_BHTD.shape[1]
        return functional.scaled_dot_product_attention(
            q_BHTD,
            _repeat_heads(k_BGTD, heads),
            _repeat_heads(v_BGTD, heads),
            is_causal=q_BHTD.shape[2] > 1,
            scale=1.0,
        )

    def keys_of(self, prompt: int) -> dict[int, LayerKeys]:
        """Return what is kept of one prompt."""
        return {
            layer: LayerKeys(
                k_PGLD[prompt].transpose(-1, -2).contiguous(), v_PGLD[prompt].contiguous()
            )
            for layer, (k_PGLD, v_PGLD) in self.layers.items()
        }


@dataclass
class ExtendPass:
    """Several tokens a row, all rows behind one prompt; right-padded, nothing is kept."""

    prompt: dict[int, LayerKeys]

    def attend(self, layer: int, q_BHTD: Tensor, k_BGTD: Tensor, v_BGTD: Tensor) -> Tensor:
        """Attend to the whole prompt and causally to the row itself."""
        rows, heads, length, _ = q_BHTD.shape
        kept = self.prompt[layer]
        prompt_BGLD = kept.key_GDL.transpose(-1, -2).expand(rows, -1, -1, -1)
        k_BGSD = torch.cat([prompt_BGLD, k_BGTD], dim=2)
        v_BGSD = torch.cat([kept.value_GLD.expand(rows, -1, -1, -1), v_BGTD], dim=2)
        seen_TS = torch.ones(length, k_BGSD.shape[2], dtype=torch.bool, device=q_BHTD.device)
        seen_TS = seen_TS.tril(kept.value_GLD.shape[1])
        return functional.scaled_dot_product_attention(
            q_BHTD,
            _repeat_heads(k_BGSD, heads),
            _repeat_heads(v_BGSD, heads),
            attn_mask=seen_TS,
            scale=1.0,
        )


@dataclass
class Store:
    """Keys and values of the rows' own tokens: preallocated, one pair a layer, [C, G, W, D].

    The products run over the whole width W, whose unused part is masked: a slice of the width
    would be copied before each product.
    """

    places: int
    width: int = 0
    layers: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def prepare(self, layer: int, kept: LayerKeys) -> None:
        """Allocate a layer in the shape of a prompt's keys and values."""
        if layer not in self.layers:
            self.layers[layer] = (
                self._zeros(kept.key_GDL.transpose(-1, -2)),
                self._zeros(kept.value_GLD),
            )

    def _zeros(self, like_GLD: Tensor) -> Tensor:
        heads, _, depth = like_GLD.shape
        return like_GLD.new_zeros(self.places, heads, self.width, depth)

    def resize(self, width: int, rows: int) -> None:
        """Change the width, keeping what the first ``rows`` rows have in it."""
        kept = min(self.width, width)
        self.width = width
        for layer, pair in self.layers.items():
            resized: list[Tensor] = []
            for old_CGWD in pair:
                new_CGWD = self._zeros(old_CGWD[0])
                new_CGWD[:rows, :, :kept] = old_CGWD[:rows, :, :kept]
                resized.append(new_CGWD)
            self.layers[layer] = (resized[0], resized[1])

    def put_prompt(self, layer: int, kept: LayerKeys, first: int, last: int) -> None:
        """Copy a prompt into the rows from ``first`` to ``last``."""
        key_CGWD, value_CGWD = self.layers[layer]
        length = kept.value_GLD.shape[1]
        key_CGWD[first:last, :, :length] = kept.key_GDL.transpose(-1, -2)
        value_CGWD[first:last, :, :length] = kept.value_GLD

    def move(self, holes: Tensor, movers: Tensor) -> None:
        """Copy rows ``movers`` over rows ``holes``."""
        for pair in self.layers.values():
            for states_CGWD in pair:
                states_CGWD.index_copy_(0, holes, states_CGWD.index_select(0, movers))


@dataclass
class DecodePass:
    """One token for each row, over its own tokens and over the prompt that its group shares.

    at_B: place of the new token among the row's own. groups: (rows of the group, its prompt).
    Scores over prompt and own tokens stand side by side and go through one softmax.
    """

    store: Store
    at_B: Tensor
    groups: list[tuple[Tensor, dict[int, LayerKeys]]]
    _scores: dict[tuple[int, ...], Tensor] = field(default_factory=dict)
    _targets: dict[int, Tensor] = field(default_factory=dict)
    _masks: dict[torch.dtype, Tensor] = field(default_factory=dict)

    def attend(self, layer: int, q_BHTD: Tensor, k_BGTD: Tensor, v_BGTD: Tensor) -> Tensor:
        """Store the new keys and values, then attend."""
        rows, heads, _, depth = q_BHTD.shape
        own_BGWD, own_values_BGWD = self._write(layer, k_BGTD, v_BGTD)
        q_BGRD = q_BHTD.reshape(rows, k_BGTD.shape[1], -1, depth)
        own_BGRW = q_BGRD @ own_BGWD.transpose(-1, -2)
        if not self.groups:
            weights_BGRW = torch.softmax(own_BGRW.add_(self._mask(own_BGRW)), dim=-1)
            return (weights_BGRW @ own_values_BGWD).reshape(rows, heads, 1, -1)
        weights = self._joint_weights(layer, q_BGRD, own_BGRW)
        out_BGRD = weights[..., -own_BGRW.shape[-1] :] @ own_values_BGWD
        for rows_N, prompt in self.groups:
            value_GLD = prompt[layer].value_GLD
            share = weights.index_select(0, rows_N)[..., : value_GLD.shape[1]]
            out_BGRD.index_add_(0, rows_N, _group_matmul(share, value_GLD))
        return out_BGRD.reshape(rows, heads, 1, -1)

    def _write(self, layer: int, k_BGTD: Tensor, v_BGTD: Tensor) -> tuple[Tensor, Tensor]:
        """Put the new token into the store; return the rows' keys and values."""
        rows, heads = k_BGTD.shape[:2]
        if heads not in self._targets:
            lane_BG = torch.arange(rows * heads, device=k_BGTD.device).view(rows, heads)
            self._targets[heads] = (lane_BG * self.store.width + self.at_B[:, None]).flatten()
        written: list[Tensor] = []
        for states_CGWD, new_BGTD in zip(self.store.layers[layer], (k_BGTD, v_BGTD), strict=True):
            depth = new_BGTD.shape[-1]
            states_CGWD.view(-1, depth).index_copy_(
                0, self._targets[heads], new_BGTD.reshape(-1, depth)
            )
            written.append(states_CGWD[:rows])
        return written[0], written[1]

    def _joint_weights(self, layer: int, q_BGRD: Tensor, own_BGRW: Tensor) -> Tensor:
        """Return softmax over [prompt tokens, own tokens]; a shorter prompt's rest has weight 0."""
        longest = max(prompt[layer].value_GLD.shape[1] for _, prompt in self.groups)
        shape = (*own_BGRW.shape[:3], longest + own_BGRW.shape[-1])
        if shape not in self._scores:
            self._scores[shape] = own_BGRW.new_full(shape, -torch.inf)
        scores = self._scores[shape]
        torch.add(own_BGRW, self._mask(own_BGRW), out=scores[..., longest:])
        for rows_N, prompt in self.groups:
            key_GDL = prompt[layer].key_GDL
            part = _group_matmul(q_BGRD.index_select(0, rows_N), key_GDL)
            scores[..., : key_GDL.shape[-1]].index_copy_(0, rows_N, part)
        return torch.softmax(scores, dim=-1)

    def _mask(self, like: Tensor) -> Tensor:
        """Return minus infinity where a row has no token yet, [B, 1, 1, W]."""
        if like.dtype not in self._masks:
            places_W = torch.arange(self.store.width, device=like.device)
            unseen_BW = places_W > self.at_B[:, None]
            zeros_BW = torch.zeros(unseen_BW.shape, dtype=like.dtype, device=like.device)
            masked_BW = zeros_BW.masked_fill_(unseen_BW, -torch.inf)
            self._masks[like.dtype] = masked_BW[:, None, None, :]
        return self._masks[like.dtype]


def _group_matmul(left_NGRX: Tensor, right_GXY: Tensor) -> Tensor:
    """Multiply all rows of a group with one matrix a head: [N, G, R, X] @ [G, X, Y]."""
    rows, heads, repeats, inner = left_NGRX.shape
    left_GNX = left_NGRX.transpose(0, 1).reshape(heads, rows * repeats, inner)
    return (left_GNX @ right_GXY).view(heads, rows, repeats, -1).transpose(0, 1)
