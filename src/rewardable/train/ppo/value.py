"""The policy and its critic in one module, so that one forward pass serves both.

By default the critic is a small head on the policy's last hidden states, behind a stop-gradient:
it costs no second model, and the policy's weights are moved by rewards alone, so that what is
found lost in them is not the value loss's doing. A critic that is a model of its own, as in the
published Countdown runs, is ``own``.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM

from rewardable.train.ppo.losses import chosen_logps, entropies
from rewardable.train.ppo.recipe import PPORecipe


class Seen(NamedTuple):
    """What is said of T tokens of B completions.

    logp_BT: at the sampling temperature. entropy_BT: nats, at temperature 1. value_BU: of the
    state before each token and, last, of that behind the whole padded row; U = T + 1.
    """

    logp_BT: torch.Tensor
    entropy_BT: torch.Tensor
    value_BU: torch.Tensor


class Critic(nn.Module):
    """Values from hidden states, 0 before any training; with a trunk, from its own."""

    def __init__(self, width: int, trunk: nn.Module | None, *, stops: bool) -> None:
        super().__init__()
        self.trunk = trunk
        self.stops = stops
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        for parameter in self.head[-1].parameters():
            nn.init.zeros_(parameter)

    def forward(self, hidden_BLD: torch.Tensor) -> torch.Tensor:
        """Return the value of each state, [B, L]."""
        if self.stops:
            hidden_BLD = hidden_BLD.detach()
        return self.head(hidden_BLD).squeeze(-1).float()


class ActorCritic(nn.Module):
    """A policy and its critic. Dropout stays off, so that the first ratio of a batch is 1."""

    def __init__(self, policy: Any, critic: Critic, *, temperature: float, bf16: bool) -> None:
        super().__init__()
        self.policy = policy
        self.critic = critic
        self.temperature = temperature
        self.bf16 = bf16
        self.eval()

    def forward(self, ids_BL: torch.Tensor, mask_BL: torch.Tensor, width: int) -> Seen:
        """Say it of the last ``width`` tokens."""
        own = self.critic.trunk is not None
        with autocast(ids_BL.device, self.bf16):
            told = _run(self.policy, ids_BL, mask_BL, output_hidden_states=not own)
            if self.critic.trunk is not None:
                hidden_BLD = _run(self.critic.trunk, ids_BL, mask_BL).last_hidden_state
            else:
                hidden_BLD = told.hidden_states[-1]
            value_BU = self.critic(hidden_BLD[:, -width - 1 :])
        logits_BTV = told.logits[:, -width - 1 : -1].float()
        logp_BT = chosen_logps(logits_BTV / self.temperature, ids_BL[:, -width:])
        return Seen(logp_BT, entropies(logits_BTV), value_BU)


def autocast(device: torch.device, bf16: bool) -> AbstractContextManager[Any]:
    """Return the context of mixed precision, or of none whatever surrounds it."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16)


def reference_logps(
    model: Any, ids_BL: torch.Tensor, mask_BL: torch.Tensor, width: int, *, temperature: float
) -> torch.Tensor:
    """Return another policy's log-probs of the last ``width`` tokens, [B, T]."""
    logits_BTV = _run(model, ids_BL, mask_BL).logits[:, -width - 1 : -1].float()
    return chosen_logps(logits_BTV / temperature, ids_BL[:, -width:])


def build(policy_source: str, base: str, recipe: PPORecipe, *, bf16: bool) -> ActorCritic:
    """Load the policy from ``policy_source``, and a critic that has learned nothing yet."""
    policy: Any = AutoModelForCausalLM.from_pretrained(policy_source, dtype=torch.float32)
    trunk: Any = None
    if recipe.critic == "own":
        trunk = AutoModel.from_pretrained(base, dtype=torch.float32)
    width = int(policy.get_output_embeddings().weight.shape[1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        critic = Critic(width, trunk, stops=recipe.critic == "detached")
    return ActorCritic(policy, critic, temperature=recipe.temperature, bf16=bf16)


def _run(model: Any, ids_BL: torch.Tensor, mask_BL: torch.Tensor, **options: Any) -> Any:
    place_BL = (mask_BL.long().cumsum(dim=-1) - 1).clamp(min=0)
    return model(
        input_ids=ids_BL, attention_mask=mask_BL, position_ids=place_BL, use_cache=False, **options
    )
