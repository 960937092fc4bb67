"""From logits to tokens: processed distribution, inverse-CDF draw, raw log-probs, entropy."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rewardable.records import SamplingSpec

FLOOR = -1e30
"""Stands for a logit of minus infinity, so that 0 * logit stays 0 in the entropy."""
BLOCK = 256
TOP_TRY = 1024


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """One token a row. Log-probs and entropies in nats; ``finite_B`` is False for broken logits."""

    ids_B: Tensor
    logprobs_B: Tensor
    sampling_logprobs_B: Tensor
    entropies_B: Tensor
    finite_B: Tensor


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The distribution at temperature 1; the largest of the shifted logits is 0."""

    shifted_BV: Tensor
    probabilities_BV: Tensor
    log_norm_B: Tensor

    @classmethod
    def of(cls, logits_BV: Tensor) -> Raw:
        """Build it in float32 from logits of any dtype."""
        values_BV = logits_BV.float()
        shifted_BV = (values_BV - values_BV.amax(-1, keepdim=True)).clamp_(min=FLOOR)
        probabilities_BV = torch.softmax(shifted_BV, dim=-1)
        log_norm_B = -probabilities_BV.amax(-1).log()
        return cls(shifted_BV=shifted_BV, probabilities_BV=probabilities_BV, log_norm_B=log_norm_B)

    def entropies(self) -> Tensor:
        """Return -sum p log p, in nats, shape [B]; never negative."""
        expected_B = torch.linalg.vecdot(self.probabilities_BV, self.shifted_BV)
        return (self.log_norm_B - expected_B).clamp_(min=0.0)

    def logprobs(self, ids_B: Tensor) -> Tensor:
        """Return the log-probs of ``ids_B``, shape [B]."""
        chosen_B = self.shifted_BV.gather(-1, ids_B[:, None]).squeeze(-1)
        return chosen_B - self.log_norm_B


def draw(logits_BV: Tensor, uniforms_B: Tensor, forced_B: Tensor, spec: SamplingSpec) -> Drawn:
    """Draw one token a row by inverting the processed distribution's CDF at ``uniforms_B``.

    forced_B: ids that are taken instead of a draw, -1 where there is none.
    The order of the CDF is the order of the ids, so equal inputs give equal tokens.
    """
    raw = Raw.of(logits_BV)
    if spec.temperature == 0:
        ids_B = raw.shifted_BV.argmax(-1)
        weights_BV = None
    else:
        weights_BV = processed(raw, spec)
        ids_B = invert(weights_BV, uniforms_B)
    ids_B = torch.where(forced_B >= 0, forced_B, ids_B)
    logprobs_B = raw.logprobs(ids_B)
    return Drawn(
        ids_B=ids_B,
        logprobs_B=logprobs_B,
        sampling_logprobs_B=_sampling_logprobs(raw, weights_BV, ids_B, logprobs_B),
        entropies_B=raw.entropies(),
        finite_B=torch.isfinite(raw.log_norm_B),
    )


def _sampling_logprobs(
    raw: Raw, weights_BV: Tensor | None, ids_B: Tensor, logprobs_B: Tensor
) -> Tensor:
    if weights_BV is raw.probabilities_BV:
        return logprobs_B
    if weights_BV is None:
        greedy_B = raw.shifted_BV.argmax(-1)
        return torch.where(ids_B == greedy_B, 0.0, -torch.inf)
    total_B = weights_BV.sum(-1, dtype=torch.float64)
    chosen_B = weights_BV.gather(-1, ids_B[:, None]).squeeze(-1).double()
    return (chosen_B / total_B).log().float()


def processed(raw: Raw, spec: SamplingSpec) -> Tensor:
    """Return weights (not normalised) after temperature, then top-k, then top-p."""
    if spec.temperature == 1:
        weights_BV = raw.probabilities_BV
    else:
        weights_BV = torch.softmax(raw.shifted_BV / spec.temperature, dim=-1)
    if spec.top_k and spec.top_k < weights_BV.shape[-1]:
        least_B1 = weights_BV.topk(spec.top_k, dim=-1).values[:, -1:]
        weights_BV = weights_BV.masked_fill(weights_BV < least_B1, 0.0)
    if spec.top_p < 1:
        weights_BV = _nucleus(weights_BV, spec.top_p)
    return weights_BV


def _nucleus(weights_BV: Tensor, top_p: float) -> Tensor:
    """Keep the smallest set of largest weights whose share reaches ``top_p``; ties stay."""
    vocabulary = weights_BV.shape[-1]
    wanted_B1 = top_p * weights_BV.sum(-1, keepdim=True, dtype=torch.float64)
    for width in (min(TOP_TRY, vocabulary), vocabulary):
        top_BK = weights_BV.topk(width, dim=-1).values
        before_BK = top_BK.double().cumsum(-1) - top_BK
        kept_BK = before_BK < wanted_B1
        if width == vocabulary or not bool(kept_BK[:, -1].any()):
            break
    least_B1 = top_BK.gather(-1, kept_BK.sum(-1, keepdim=True) - 1)
    return weights_BV.masked_fill(weights_BV < least_B1, 0.0)


def invert(weights_BV: Tensor, uniforms_B: Tensor) -> Tensor:
    """Return the first id whose cumulative weight exceeds ``uniforms_B`` times the total.

    Float64 sums; a large vocabulary is searched block by block, then inside the block.
    """
    rows, vocabulary = weights_BV.shape
    if vocabulary <= 2 * BLOCK:
        return _search(weights_BV.double().cumsum(-1), uniforms_B, None)[0]
    blocks = -(-vocabulary // BLOCK)
    if vocabulary % BLOCK:
        weights_BV = torch.nn.functional.pad(weights_BV, (0, blocks * BLOCK - vocabulary))
    weights_BCK = weights_BV.view(rows, blocks, BLOCK)
    block_B, rest_B = _search(weights_BCK.sum(-1).double().cumsum(-1), uniforms_B, None)
    inside_BK = weights_BCK[torch.arange(rows, device=weights_BV.device), block_B].double()
    place_B, _ = _search(inside_BK.cumsum(-1), None, rest_B)
    return block_B * BLOCK + place_B


def _search(
    cumulative_BC: Tensor, uniforms_B: Tensor | None, target_B: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return (first place above the target, what the target leaves of that place's weight)."""
    total_B = cumulative_BC[:, -1]
    if target_B is None:
        assert uniforms_B is not None
        target_B = uniforms_B * total_B
    below_B = torch.nextafter(total_B, torch.zeros_like(total_B))
    target_B = torch.minimum(target_B, below_B)
    place_B = (cumulative_BC <= target_B[:, None]).sum(-1)
    place_B.clamp_(max=cumulative_BC.shape[-1] - 1)
    previous_B = cumulative_BC.gather(-1, (place_B - 1).clamp(min=0)[:, None]).squeeze(-1)
    return place_B, target_B - torch.where(place_B > 0, previous_B, 0.0)
