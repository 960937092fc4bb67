"""A KL to the base on the first response tokens alone, exact over the vocabulary."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch

from rewardable.train.core import Forward
from rewardable.train.preserve.config import OpeningKLConfig
from rewardable.train.preserve.reference import Ids, Reference, next_logprobs

Opening = tuple[Ids, Ids]
"""Prompt ids, and the first response tokens."""


class OpeningKL:
    """weight x mean over rows of the mean over places of KL at that place.

    A place is what the policy says after the prompt and the first t < m tokens of the sampled
    completion; places behind the end token do not count. Rows that share an opening are read once.
    """

    name = "opening_kl"

    def __init__(self, config: OpeningKLConfig, reference: Reference) -> None:
        self._config = config
        self._reference = reference
        self._known: OrderedDict[Opening, torch.Tensor] = OrderedDict()

    def bind(self, trainer: Any) -> None:
        """Let the reference be the trainer's, where it has one."""
        self._reference.bind(trainer)

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return the term."""
        shares = opening_shares(seen, self._config.tokens)
        openings = list(shares)
        device = seen.completion_ids_BT.device
        prompts, heads = [o[0] for o in openings], [o[1] for o in openings]
        policy_RTV = next_logprobs(seen.model, prompts, heads, self._config.tokens, device)
        base_RTV = self._base(seen, openings)
        kl_RT = divergence(policy_RTV, base_RTV, self._config.direction)
        length_R = torch.tensor([len(head) for head in heads], device=device)
        inside_RT = torch.arange(self._config.tokens, device=device)[None] < length_R[:, None]
        mean_R = (kl_RT * inside_RT).sum(dim=1) / length_R.clamp(min=1)
        share_R = torch.tensor(list(shares.values()), device=device)
        return self._config.weight * (mean_R * share_R).sum()

    def _base(self, seen: Forward, openings: Sequence[Opening]) -> torch.Tensor:
        """Return the base's log-probs, read only where they are not known yet."""
        device = seen.completion_ids_BT.device
        new = [opening for opening in openings if opening not in self._known]
        found: dict[Opening, torch.Tensor] = {}
        if new:
            with self._reference.opened(seen) as model:
                read = next_logprobs(
                    model, [o[0] for o in new], [o[1] for o in new], self._config.tokens, device
                )
            found = dict(zip(new, read, strict=True))
        rows = [found[o] if o in found else self._known[o].to(device) for o in openings]
        self._keep(found)
        return torch.stack(rows)

    def _keep(self, found: dict[Opening, torch.Tensor]) -> None:
        """Remember what was read, the oldest given up first."""
        for opening, numbers in found.items():
            most = int(self._config.cache_mb * 2**20) // (numbers.numel() * numbers.element_size())
            if most:
                self._known[opening] = numbers.detach().cpu().clone()
                while len(self._known) > most:
                    self._known.popitem(last=False)


def opening_shares(seen: Forward, tokens: int) -> dict[Opening, float]:
    """Return the distinct openings of a micro-batch and the share of its rows that begin so.

    A row without a counted token (a truncated one that is masked) has no share in the mean; where
    no row has one, the first row stands with share 0.
    """
    counts: dict[Opening, int] = {}
    whole = 0
    prompts = _unpadded(seen.prompt_ids_BP, seen.prompt_mask_BP)
    heads = _unpadded(seen.completion_ids_BT[:, :tokens], seen.completion_mask_BT[:, :tokens])
    for prompt, head in zip(prompts, heads, strict=True):
        if head:
            counts[prompt, head] = counts.get((prompt, head), 0) + 1
            whole += 1
    if not whole:
        return {(prompts[0], ()): 0.0}
    return {opening: count / whole for opening, count in counts.items()}


def _unpadded(ids_BT: torch.Tensor, mask_BT: torch.Tensor) -> list[Ids]:
    rows = zip(ids_BT.tolist(), mask_BT.tolist(), strict=True)
    return [tuple(i for i, m in zip(ids, mask, strict=True) if m) for ids, mask in rows]


def divergence(policy: torch.Tensor, base: torch.Tensor, direction: str) -> torch.Tensor:
    """Return KL(policy || base) or KL(base || policy) of log-probs, over the last dimension."""
    first, second = (policy, base) if direction == "policy" else (base, policy)
    return (first.exp() * (first - second)).sum(dim=-1)
