"""Decodes rows with two models at once, each over its own cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rewardable.engines.hf.decoder import Decoder, Moves, PromptState
from rewardable.engines.mixing.blend import Blend


@dataclass(eq=False)
class PairState(PromptState):
    """A prompt's state in the trained model, with that in the earlier one."""

    twin: PromptState = field(init=False)

    def __post_init__(self) -> None:
        """Give the earlier model a state of its own."""
        self.twin = PromptState(ids=self.ids)

    def forget(self) -> None:
        """Drop what either has computed."""
        super().forget()
        self.twin.forget()


class MixedDecoder:
    """Rows of the mixture. The earlier model rests while no row is at a token that is mixed."""

    def __init__(self, trained: Decoder, earlier: Decoder, blend: Blend) -> None:
        self.trained = trained
        self.earlier = earlier
        self.blend = blend
        self.at: list[int] = []

    @property
    def rows(self) -> int:
        """Rows in the batch now."""
        return self.trained.rows

    @property
    def joins_running(self) -> bool:
        """Whether both models let rows join."""
        return self.trained.joins_running and self.earlier.joins_running

    @torch.inference_mode()
    def add(self, groups: Sequence[tuple[PromptState, int]]) -> Tensor:
        """Add rows to both models; return the mixture's logits of their first tokens."""
        trained_NV = self.trained.add(groups)
        self.at += [0] * len(trained_NV)
        if not self.blend.reaches(0):
            return trained_NV
        earlier_NV = self.earlier.add([(_twin(state), count) for state, count in groups])
        return self.blend(trained_NV, earlier_NV, torch.zeros(len(trained_NV)))

    @torch.inference_mode()
    def step(self, ids_B: Tensor) -> Tensor:
        """Append one token to every row.

        Where the earlier model has rested, its cache of those rows is never asked again.
        """
        trained_BV = self.trained.step(ids_B)
        self.at = [at + 1 for at in self.at]
        if not any(map(self.blend.reaches, self.at)):
            return trained_BV
        return self.blend(trained_BV, self.earlier.step(ids_B), torch.tensor(self.at))

    @torch.inference_mode()
    def drop(self, moves: Moves) -> None:
        """Forget finished rows in both models."""
        self.trained.drop(moves)
        if self.blend.reaches(0):
            self.earlier.drop(moves)
        for hole, mover in zip(moves.holes, moves.movers, strict=True):
            self.at[hole] = self.at[mover]
        del self.at[moves.count :]


def _twin(state: PromptState) -> PromptState:
    assert isinstance(state, PairState), "the mixed engine makes the states"
    return state.twin
