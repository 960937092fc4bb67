"""The sums that PPO's loss is made of. B completions, T tokens, V tokens of vocabulary."""

from __future__ import annotations

import torch


def chosen_logps(logits_BTV: torch.Tensor, ids_BT: torch.Tensor) -> torch.Tensor:
    """Return the log-prob of each chosen token, [B, T]."""
    logp_BTV = torch.log_softmax(logits_BTV.float(), dim=-1)
    return logp_BTV.gather(-1, ids_BT.unsqueeze(-1)).squeeze(-1)


def entropies(logits_BTV: torch.Tensor) -> torch.Tensor:
    """Return the entropy in nats of each next-token distribution, [B, T]."""
    logp_BTV = torch.log_softmax(logits_BTV.float(), dim=-1)
    # a token of probability 0 has log-prob -inf, and adds nothing
    return -(logp_BTV.exp() * logp_BTV.clamp(min=torch.finfo(logp_BTV.dtype).min)).sum(-1)


def policy_loss(
    logp_BT: torch.Tensor,
    old_BT: torch.Tensor,
    advantage_BT: torch.Tensor,
    mask_BT: torch.Tensor,
    clip: float,
    clip_high: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (sum over tokens of the clipped loss, number of tokens that the clip holds back).

    Held back are tokens whose ratio has left [1 - clip, 1 + clip_high] to the side that their
    advantage rewards: they have no gradient.
    """
    ratio_BT = torch.exp((logp_BT - old_BT).masked_fill(~mask_BT, 0.0))
    free_BT = ratio_BT * advantage_BT
    bound_BT = ratio_BT.clamp(1.0 - clip, 1.0 + clip_high) * advantage_BT
    held_BT = (bound_BT < free_BT) & mask_BT
    return -torch.minimum(free_BT, bound_BT)[mask_BT].sum(), held_BT.sum()


def value_loss(
    value_BT: torch.Tensor,
    old_BT: torch.Tensor,
    returned_BT: torch.Tensor,
    mask_BT: torch.Tensor,
    clip: float,
) -> torch.Tensor:
    """Return the sum over tokens of half the squared error, the larger of free and clipped."""
    free_BT = (value_BT - returned_BT) ** 2
    if clip:
        near_BT = old_BT + (value_BT - old_BT).clamp(-clip, clip)
        free_BT = torch.maximum(free_BT, (near_BT - returned_BT) ** 2)
    return 0.5 * free_BT[mask_BT].sum()


def divergence(logp_BT: torch.Tensor, other_BT: torch.Tensor) -> torch.Tensor:
    """Return an estimate of KL(p, other) from each token drawn from p; never below 0."""
    gap_BT = other_BT - logp_BT
    return torch.exp(gap_BT) - gap_BT - 1.0
