"""TRL's GRPO and RLOO trainers with terms added to their loss, by public methods and hooks alone.

``compute_loss`` is overridden: TRL's loss plus each term, divided by gradient accumulation where
TRL's own is. What the model says of the sampled tokens is read by a forward hook.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.rloo_trainer import RLOOTrainer

from rewardable.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Forward:
    """One micro-batch of the loss. B rows, P prompt tokens (left-padded), T completion tokens.

    logp_BT, entropy_BT: the policy's on the sampled tokens, at the sampling temperature, in the
    graph. completion_mask_BT is 0 behind the end token. model: as the trainer wraps it.
    """

    step: int
    model: Any
    accelerator: Any
    prompt_ids_BP: torch.Tensor
    prompt_mask_BP: torch.Tensor
    completion_ids_BT: torch.Tensor
    completion_mask_BT: torch.Tensor
    advantages_B: torch.Tensor
    logp_BT: torch.Tensor
    entropy_BT: torch.Tensor


class LossTerm(Protocol):
    """A part of the loss beside the policy gradient."""

    @property
    def name(self) -> str:
        """Under which its value is logged."""
        ...

    def __call__(self, seen: Forward) -> torch.Tensor:
        """Return a scalar in the graph, its coefficient included: a mean over its own items."""
        ...


class Ratio(NamedTuple):
    """A mean as its sum and the number of its items, so that micro-batches weigh by theirs."""

    total: float
    items: float


Watch = Callable[[Forward], Mapping[str, "float | Ratio"]]
"""Looks at a micro-batch; the numbers that it returns are averaged over the step and logged."""


class _Spoken:
    """Collects the log-probs and entropies of the forward passes of one loss."""

    def __init__(self) -> None:
        self.logps: list[torch.Tensor] = []
        self.entropies: list[torch.Tensor] = []

    def __call__(self, _module: Any, _args: Any, output: Any) -> None:
        if getattr(output, "log_probs", None) is not None:
            self.logps.append(output.log_probs)
            self.entropies.append(output.entropy)

    def last(self, width: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what was said of the last ``width`` tokens: log-probs and entropies, [B, T]."""
        if not self.logps:
            raise ConfigError(
                "the trainer's model gave no per-token log-probs; loss terms and watches need the "
                "loss of TRL 1.16 or later without use_liger_kernel."
            )
        logp = torch.cat([rows[:, -width:] for rows in self.logps])
        return logp, torch.cat([rows[:, -width:] for rows in self.entropies])


@contextmanager
def _listening(model: Any) -> Generator[_Spoken]:
    spoken = _Spoken()
    handle = model.register_forward_hook(spoken)
    try:
        yield spoken
    finally:
        handle.remove()


class _Added:
    """The mixin: terms and watches of a trainer whose ``compute_loss`` it extends."""

    terms: Sequence[LossTerm] = ()
    watches: Sequence[Watch] = ()

    def compute_loss(
        self,
        model: Any,
        inputs: Any,
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> torch.Tensor:
        """Return TRL's loss plus every term."""
        trainer: Any = self
        with _listening(model) as spoken:
            loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)  # type: ignore[misc]
        if not self.terms and not self.watches:
            return loss
        seen = self._forward(model, inputs, spoken)
        scaled = trainer.loss_is_scaled_for_ga and model.training
        share = trainer.current_gradient_accumulation_steps if scaled else 1
        for term in self.terms:
            value = term(seen)
            self.seen_numbers.setdefault(f"loss/{term.name}", []).append(float(value.detach()))
            loss = loss + value / share
        for watch in self.watches:
            for name, number in watch(seen).items():
                self.seen_numbers.setdefault(name, []).append(number)
        return loss

    @property
    def seen_numbers(self) -> dict[str, list[float | Ratio]]:
        """Numbers of terms and watches since the last log."""
        return self.__dict__.setdefault("_seen_numbers", {})

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the means of the numbers seen to TRL's log line."""
        for name, values in self.seen_numbers.items():
            ratios = [v if isinstance(v, Ratio) else Ratio(v, 1.0) for v in values]
            items = sum(ratio.items for ratio in ratios)
            if items:
                logs[name] = sum(ratio.total for ratio in ratios) / items
        self.seen_numbers.clear()
        super().log(logs, start_time)  # type: ignore[misc]

    def _forward(self, model: Any, inputs: Any, spoken: _Spoken) -> Forward:
        trainer: Any = self
        logp_BT, entropy_BT = spoken.last(inputs["completion_ids"].size(1))
        return Forward(
            step=trainer.state.global_step,
            model=model,
            accelerator=trainer.accelerator,
            prompt_ids_BP=inputs["prompt_ids"],
            prompt_mask_BP=inputs["prompt_mask"],
            completion_ids_BT=inputs["completion_ids"],
            completion_mask_BT=inputs["completion_mask"],
            advantages_B=inputs["advantages"],
            logp_BT=logp_BT,
            entropy_BT=entropy_BT,
        )


class AddingGRPO(_Added, GRPOTrainer):
    """GRPO with terms and watches."""


class AddingRLOO(_Added, RLOOTrainer):
    """RLOO with terms and watches."""
