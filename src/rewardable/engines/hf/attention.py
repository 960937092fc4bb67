"""Attention over a key-value store of ours, hooked in through transformers' AttentionInterface.

A forward pass carries a ``Pass`` object as keyword argument; the attention function hands each
layer's new queries, keys and values to it. Three kinds of pass: prompts (``PrefillPass``), one
token for each row (``DecodePass``), several tokens behind one prompt (``ExtendPass``).

Shapes: B rows, H query heads, G key-value heads, R = H / G, D width, L prompt and S own tokens.
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
    """Keys (transposed) and values of the rows' own tokens, preallocated, one pair a layer."""

    places: int
    width: int = 0
    keys: dict[int, Tensor] = field(default_factory=dict)
    values: dict[int, Tensor] = field(default_factory=dict)

    def prepare(self, layer: int, key_GDL: Tensor, value_GLD: Tensor) -> None:
        """Allocate a layer in the shape of a prompt's keys and values."""
        if layer not in self.keys:
            heads, depth, _ = key_GDL.shape
            self.keys[layer] = key_GDL.new_zeros(self.places, heads, depth, self.width)
            self.values[layer] = value_GLD.new_zeros(
                self.places, heads, self.width, value_GLD.shape[-1]
            )

    def widen(self, width: int, rows: int) -> None:
        """Make room for ``width`` tokens a row, keeping the first ``rows`` rows."""
        old, self.width = self.width, width
        for layer, key_CGDS in self.keys.items():
            value_CGSD = self.values[layer]
            wider_CGDS = key_CGDS.new_zeros(*key_CGDS.shape[:3], width)
            wider_CGDS[:rows, :, :, :old] = key_CGDS[:rows]
            self.keys[layer] = wider_CGDS
            deeper_CGSD = value_CGSD.new_zeros(*value_CGSD.shape[:2], width, value_CGSD.shape[-1])
            deeper_CGSD[:rows, :, :old] = value_CGSD[:rows]
            self.values[layer] = deeper_CGSD

    def move(self, holes: Tensor, movers: Tensor, length: int) -> None:
        """Copy rows ``movers`` over rows ``holes``, their first ``length`` tokens."""
        for layer, key_CGDS in self.keys.items():
            key_CGDS[holes, :, :, :length] = key_CGDS[movers, :, :, :length]
            value_CGSD = self.values[layer]
            value_CGSD[holes, :, :length] = value_CGSD[movers, :, :length]


@dataclass
class DecodePass:
    """One token for each row, over its own tokens and over the prompt that its group shares.

    at_B: place of the new token among the row's own. groups: (rows of the group, its prompt).
    Scores over prompt and own tokens stand side by side and go through one softmax.
    """

    store: Store
    at_B: Tensor
    seen: int
    groups: list[tuple[Tensor, dict[int, LayerKeys]]]
    _scores: dict[tuple[int, ...], Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Build what all layers use."""
        device = self.at_B.device
        self._rows_B = torch.arange(len(self.at_B), device=device)
        unseen_BS = torch.arange(self.seen, device=device) > self.at_B[:, None]
        self._mask_BS = torch.zeros(unseen_BS.shape, device=device).masked_fill_(
            unseen_BS, -torch.inf
        )
        self._mask: Tensor | None = None

    def attend(self, layer: int, q_BHTD: Tensor, k_BGTD: Tensor, v_BGTD: Tensor) -> Tensor:
        """Store the new keys and values, then attend."""
        rows, heads, _, depth = q_BHTD.shape
        key_CGDS, value_CGSD = self.store.keys[layer], self.store.values[layer]
        key_CGDS[self._rows_B, :, :, self.at_B] = k_BGTD[:, :, 0]
        value_CGSD[self._rows_B, :, self.at_B] = v_BGTD[:, :, 0]
        q_BGRD = q_BHTD.reshape(rows, k_BGTD.shape[1], -1, depth)
        own_BGRS = q_BGRD @ key_CGDS[:rows, :, :, : self.seen]
        own_values_BGSD = value_CGSD[:rows, :, : self.seen]
        if not self.groups:
            weights_BGRS = torch.softmax(own_BGRS.add_(self._masked(own_BGRS)), dim=-1)
            return (weights_BGRS @ own_values_BGSD).reshape(rows, heads, 1, -1)
        weights = self._joint_weights(layer, q_BGRD, own_BGRS)
        width = weights.shape[-1] - self.seen
        out_BGRD = weights[..., width:] @ own_values_BGSD
        for rows_N, prompt in self.groups:
            value_GLD = prompt[layer].value_GLD
            share = weights.index_select(0, rows_N)[..., : value_GLD.shape[1]]
            out_BGRD.index_add_(0, rows_N, _group_matmul(share, value_GLD))
        return out_BGRD.reshape(rows, heads, 1, -1)

    def _joint_weights(self, layer: int, q_BGRD: Tensor, own_BGRS: Tensor) -> Tensor:
        """Return softmax over [prompt tokens, own tokens]; a shorter prompt's rest has weight 0."""
        width = max(prompt[layer].value_GLD.shape[1] for _, prompt in self.groups)
        shape = (*own_BGRS.shape[:3], width + self.seen)
        if shape not in self._scores:
            self._scores[shape] = own_BGRS.new_full(shape, -torch.inf)
        scores = self._scores[shape]
        torch.add(own_BGRS, self._masked(own_BGRS), out=scores[..., width:])
        for rows_N, prompt in self.groups:
            key_GDL = prompt[layer].key_GDL
            part = _group_matmul(q_BGRD.index_select(0, rows_N), key_GDL)
            scores[..., : key_GDL.shape[-1]].index_copy_(0, rows_N, part)
        return torch.softmax(scores, dim=-1)

    def _masked(self, like: Tensor) -> Tensor:
        if self._mask is None or self._mask.dtype != like.dtype:
            self._mask = self._mask_BS.to(like.dtype)[:, None, None, :]
        return self._mask


def _group_matmul(left_NGRX: Tensor, right_GXY: Tensor) -> Tensor:
    """Multiply all rows of a group with one matrix a head: [N, G, R, X] @ [G, X, Y]."""
    rows, heads, repeats, inner = left_NGRX.shape
    left_GNX = left_NGRX.transpose(0, 1).reshape(heads, rows * repeats, inner)
    return (left_GNX @ right_GXY).view(heads, rows, repeats, -1).transpose(0, 1)
