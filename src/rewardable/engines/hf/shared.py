"""Decoder whose rows share their prompt's key-value cache; rows join and leave at any time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from rewardable.engines.hf.attention import (
    IMPLEMENTATION,
    DecodePass,
    ExtendPass,
    LayerKeys,
    PrefillPass,
    Store,
    UnsupportedAttentionError,
    register,
)
from rewardable.engines.hf.decoder import Moves, PromptState
from rewardable.engines.hf.score import Item, full_logits

WIDTH_STEP = 16
WIDTH_SPARE = 64
PREFILL_TOKENS = 4096
Kept = dict[int, LayerKeys]
"""A prompt's keys and values, layer by layer."""
SHARE_FROM = 4096
"""Rows times prompt tokens from which one shared copy beats a copy in each row."""


class SharedDecoder:
    """Prefills each prompt once. Long prompts stay in one copy for all their rows."""

    joins_running = True

    def __init__(self, model: Any, places: int, share_from: int = SHARE_FROM) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self.rows = 0
        self.share_from = share_from
        self.store = Store(places)
        self.own_B = torch.zeros(places, dtype=torch.long, device=self.device)
        self.position_B = torch.zeros(places, dtype=torch.long, device=self.device)
        self.shares: list[Kept | None] = []
        self._groups: list[tuple[Tensor, Kept]] | None = []

    @torch.inference_mode()
    def add(self, groups: Sequence[tuple[PromptState, int]]) -> Tensor:
        """Prefill the prompts that are new and give each row its place."""
        prefill(self.model, [state for state, _ in groups if state.kept is None])
        self._reserve(groups)
        logits: list[Tensor] = []
        for state, count in groups:
            self._place(state, count)
            assert state.first_logits_V is not None
            logits.append(state.first_logits_V.expand(count, -1))
        self._groups = None
        return torch.cat(logits)

    @torch.inference_mode()
    def step(self, ids_B: Tensor) -> Tensor:
        """Append one token to every row."""
        rows = self.rows
        seen = int(self.own_B[:rows].max()) + 1
        self._fit(seen)
        decode = DecodePass(self.store, self.own_B[:rows], self._shared_groups())
        logits_BV = forward(
            self.model, ids_B[:, None].to(self.device), self.position_B[:rows, None], decode, 1
        )[:, -1]
        self.own_B[:rows] += 1
        self.position_B[:rows] += 1
        return logits_BV

    @torch.inference_mode()
    def drop(self, moves: Moves) -> None:
        """Move rows from the end into the places of finished ones."""
        if moves.holes:
            holes = torch.tensor(moves.holes, device=self.device)
            movers = torch.tensor(moves.movers, device=self.device)
            self.store.move(holes, movers)
            self.own_B[holes] = self.own_B[movers]
            self.position_B[holes] = self.position_B[movers]
        for hole, mover in zip(moves.holes, moves.movers, strict=True):
            self.shares[hole] = self.shares[mover]
        del self.shares[moves.count :]
        self.rows = moves.count
        self._groups = None

    def _is_shared(self, state: PromptState, count: int) -> bool:
        return len(state.ids) * count >= self.share_from

    def _reserve(self, groups: Sequence[tuple[PromptState, int]]) -> None:
        """Allocate layers, and width for prompts that are copied into their rows."""
        copied = [len(state.ids) for state, count in groups if not self._is_shared(state, count)]
        needed = max(copied, default=0) + WIDTH_STEP
        self._fit(max(needed, self.store.width))
        for layer, kept in groups[0][0].kept.items():
            self.store.prepare(layer, kept)

    def _fit(self, needed: int) -> None:
        """Keep the store's width just above what the longest row needs."""
        if not needed <= self.store.width <= needed + WIDTH_SPARE:
            self.store.resize(-(-needed // WIDTH_STEP) * WIDTH_STEP, self.rows)

    def _place(self, state: PromptState, count: int) -> None:
        first, last, length = self.rows, self.rows + count, len(state.ids)
        shared = self._is_shared(state, count)
        self.shares.extend([state.kept if shared else None] * count)
        self.own_B[first:last] = 0 if shared else length
        self.position_B[first:last] = length
        self.rows = last
        if not shared:
            for layer, kept in state.kept.items():
                self.store.put_prompt(layer, kept, first, last)

    def _shared_groups(self) -> list[tuple[Tensor, Kept]]:
        """Return the rows of each shared prompt; found anew when rows have come or gone."""
        if self._groups is None:
            members: dict[int, tuple[list[int], Kept]] = {}
            for row, kept in enumerate(self.shares):
                if kept is not None:
                    members.setdefault(id(kept), ([], kept))[0].append(row)
            self._groups = [
                (torch.tensor(rows, device=self.device), kept) for rows, kept in members.values()
            ]
        return self._groups


def forward(model: Any, ids_BT: Tensor, positions_BT: Tensor, kv_pass: Any, keep: int) -> Tensor:
    """Run the model under ``kv_pass``; return the logits of the last ``keep`` tokens (0: all)."""
    return model(
        input_ids=ids_BT,
        attention_mask=torch.ones_like(ids_BT),
        position_ids=positions_BT,
        use_cache=False,
        logits_to_keep=keep,
        kv_pass=kv_pass,
    ).logits


def prefill(model: Any, states: Sequence[PromptState]) -> None:
    """Compute keys, values and first logits of the prompts, those of equal length together."""
    device = next(model.parameters()).device
    by_length: dict[int, list[PromptState]] = {}
    for state in dict.fromkeys(states):
        by_length.setdefault(len(state.ids), []).append(state)
    for length, group in by_length.items():
        size = max(1, PREFILL_TOKENS // length)
        for start in range(0, len(group), size):
            _prefill_batch(model, group[start : start + size], device)


def _prefill_batch(model: Any, states: Sequence[PromptState], device: torch.device) -> None:
    ids_PL = torch.tensor([state.ids for state in states], device=device)
    positions_PL = torch.arange(ids_PL.shape[1], device=device).expand_as(ids_PL)
    kv_pass = PrefillPass()
    logits_PV = forward(model, ids_PL, positions_PL, kv_pass, 1)[:, -1]
    for row, state in enumerate(states):
        state.first_logits_V = logits_PV[row].clone()
        state.kept = kv_pass.keys_of(row)


@torch.inference_mode()
def shared_logits(model: Any, items: Sequence[Item]) -> Tensor:
    """Score completions of one prompt behind a single copy of it; see ``score_items``."""
    device = next(model.parameters()).device
    prompt = items[0][1]
    rows = [ids[:-1] for _, _, ids in items]
    width = max(1, *(len(row) for row in rows))
    state = PromptState(ids=tuple(prompt))
    prefill(model, [state])
    assert state.first_logits_V is not None
    first_B1V = state.first_logits_V.expand(len(items), 1, -1)
    ids_BT = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows], device=device)
    positions_BT = (torch.arange(width, device=device) + len(prompt)).expand_as(ids_BT)
    rest_BTV = forward(model, ids_BT, positions_BT, ExtendPass(state.kept), 0)
    return torch.cat([first_B1V, rest_BTV], dim=1)


@torch.inference_mode()
def _probe(model: Any, reference_V: Tensor, ids: list[int]) -> bool:
    """Tell whether prompt, shared and own tokens together give the reference's logits."""
    for share_from in (0, len(ids) * 10):
        decoder = SharedDecoder(model, 3, share_from)
        decoder.add([(PromptState(ids=tuple(ids[:-2])), 2)])
        logits_BV = torch.empty(0)
        for token in ids[-2:]:
            logits_BV = decoder.step(torch.tensor([token] * 2))
        spread = (reference_V.float().amax() - reference_V.float().amin()).clamp(min=1e-6)
        worst = (logits_BV.float() - reference_V.float()).abs().amax() / spread
        exact = reference_V.dtype == torch.float32
        if not bool(worst < (1e-4 if exact else 0.05)):
            return False
    return True


def share_prefixes(model: Any) -> bool:
    """Switch ``model`` to shared prompts if it computes the same that way; tell whether it does.

    The check runs a few tokens both ways; where the results differ, or the model's attention
    cannot be replaced, the model is left with transformers' own attention.
    """
    device = next(model.parameters()).device
    if device.type == "meta" or len(set(getattr(model, "hf_device_map", {}).values())) > 1:
        return False
    vocabulary = model.config.get_text_config().vocab_size
    ids = [(7 * i + 3) % vocabulary for i in range(8)]
    with torch.inference_mode():
        reference_V = full_logits(model, [("", ids, (0,))])[0, 0]
    register()
    try:
        model.set_attn_implementation(IMPLEMENTATION)
        if _probe(model, reference_V, ids):
            return True
    except (
        UnsupportedAttentionError,
        TypeError,
        ValueError,
        KeyError,
        AttributeError,
        RuntimeError,
    ):
        pass
    _restore(model)
    return False


@contextmanager
def own_attention(model: Any) -> Generator[None]:
    """Give a switched model transformers' own attention back for a while."""
    _restore(model)
    try:
        yield
    finally:
        model.set_attn_implementation(IMPLEMENTATION)


def _restore(model: Any) -> None:
    try:
        model.set_attn_implementation("sdpa")
    except ValueError:
        model.set_attn_implementation("eager")
