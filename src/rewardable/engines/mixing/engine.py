"""Logit mixing and opening transplant: two models decode one completion together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rewardable.engines.hf.decoder import Decoder
from rewardable.engines.hf.engine import HfEngine, HfSampler
from rewardable.engines.hf.rows import Job
from rewardable.engines.hf.score import Item
from rewardable.engines.mixing.blend import Blend
from rewardable.engines.mixing.decoder import MixedDecoder, PairState
from rewardable.engines.mixing.source import LOGITS, PROBABILITIES, MixSource
from rewardable.errors import DataError
from rewardable.records import Policy, digest


@dataclass(frozen=True, kw_only=True)
class MixedEngine(HfSampler):
    """Sampler, Scorer and TokenReader of the mixture; log-probs and entropies are the mixture's.

    Own fields are the trained policy's; prompts are encoded by its tokenizer and template for
    both. A completion ends at an id that ends one for a policy which has a share in it.
    """

    earlier: HfSampler
    blend: Blend

    @property
    def context(self) -> int | None:
        """The smaller of both contexts."""
        known = [length for length in (super().context, self.earlier.context) if length]
        return min(known, default=None)

    @property
    def vocabulary(self) -> int:
        """Width of both models' logits together: they are held at the same time."""
        return super().vocabulary + self.earlier.vocabulary

    def new_decoder(self, places: int) -> Decoder:
        """Return an empty decoder over both models."""
        trained, earlier = super().new_decoder(places), self.earlier.new_decoder(places)
        return MixedDecoder(trained, earlier, self.blend)

    def new_state(self, ids: Sequence[int]) -> PairState:
        """Return the state of a prompt that neither model has seen."""
        return PairState(ids=tuple(ids))

    def places(self, jobs: Sequence[Job]) -> int:
        """Return how many rows are decoded at once: both models' rows share the memory."""
        if self.options.batch_rows:
            return self.options.batch_rows
        return max(1, min(super().places(jobs), self.earlier.places(jobs)) // 2)

    @torch.inference_mode()
    def logits(self, items: Sequence[Item]) -> Tensor:
        """Return the mixture's logits, [B, T, V]."""
        longest = max(len(ids) for _, _, ids in items)
        trained_BTV = super().logits(items)[:, :longest]
        if not self.blend.reaches(0):
            return trained_BTV
        earlier_BTV = self.earlier.logits(items)[:, :longest]
        at_N = torch.arange(longest).repeat(len(items))
        mixed_NV = self.blend(trained_BTV.flatten(0, 1), earlier_BTV.flatten(0, 1), at_N)
        return mixed_NV.unflatten(0, (len(items), longest))


def mix_models(mix: MixSource, trained: HfEngine, earlier: HfEngine) -> MixedEngine:
    """Build the engine of two opened policies; DataError where their tokens differ."""
    _check_same_tokens(mix, trained, earlier)
    of = PROBABILITIES if mix.kind == PROBABILITIES else LOGITS
    blend = Blend(alpha=mix.alpha, first=mix.first, of=of)
    parts = (trained.policy, earlier.policy)
    contents = [[policy.weights, policy.adapter] for policy in parts]
    policy = Policy(
        name=mix.text([policy.name for policy in parts]),
        weights=digest("mix", blend.of, blend.alpha, blend.first, contents),
        template=trained.policy.template,
        source=mix.text(),
    )
    return MixedEngine(
        policy=policy,
        loaded=replace(trained.loaded, eos_ids=_end_ids(blend, trained, earlier)),
        encoder=trained.encoder,
        options=trained.options,
        shares_prefixes=trained.shares_prefixes,
        earlier=earlier,
        blend=blend,
    )


def _end_ids(blend: Blend, trained: HfSampler, earlier: HfSampler) -> frozenset[int]:
    if blend.alpha == 0:
        return trained.loaded.eos_ids
    if blend.alpha == 1 and not blend.first:
        return earlier.loaded.eos_ids
    return trained.loaded.eos_ids | earlier.loaded.eos_ids


def _check_same_tokens(mix: MixSource, trained: HfSampler, earlier: HfSampler) -> None:
    """Refuse two vocabularies: the same id must stand for the same token in both."""
    names = mix.sources
    if trained.tokenizer_key != earlier.tokenizer_key:
        sizes = [len(part.loaded.tokenizer.get_vocab()) for part in (trained, earlier)]
        raise DataError(
            f"{names[0]} and {names[1]} have different vocabularies ({sizes[0]} and {sizes[1]} "
            "tokens, or the same tokens under other ids), so that their logits cannot be mixed. "
            "Mix whole completions instead: mix:checkpoints."
        )
    if trained.vocabulary != earlier.vocabulary:
        raise DataError(
            f"{names[0]} gives {trained.vocabulary} logits a token and {names[1]} "
            f"{earlier.vocabulary}, although their tokenizers agree: one has padded or resized "
            "embeddings. Give both the same number of rows first."
        )
