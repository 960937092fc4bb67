"""Mixes the next-token distributions of two policies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from rewardable.engines.mixing.source import PROBABILITIES


@dataclass(frozen=True, kw_only=True, slots=True)
class Blend:
    """How two policies are mixed at each token.

    alpha: the earlier policy's share. first: how many tokens of a completion are mixed; 0: all.
    of: ``logits`` (the geometric mean of the distributions) or ``probabilities`` (the arithmetic
    one). Temperature, top-k and top-p act on the mixture.
    """

    alpha: float
    first: int = 0
    of: str = "logits"

    def reaches(self, at: int) -> bool:
        """Tell whether the token at place ``at`` of a completion is mixed."""
        return self.alpha > 0 and (not self.first or at < self.first)

    def __call__(self, trained_NV: Tensor, earlier_NV: Tensor, at_N: Tensor) -> Tensor:
        """Return logits of the mixture, float32; ``at_N`` are the places in the completions."""
        trained_NV, earlier_NV = trained_NV.float(), earlier_NV.to(trained_NV.device).float()
        if self.alpha == 0:
            return trained_NV
        mixed_NV = self._mixed(trained_NV, earlier_NV)
        if not self.first:
            return mixed_NV
        inside_N = (at_N < self.first).to(mixed_NV.device)
        return torch.where(inside_N[:, None], mixed_NV, trained_NV)

    def _mixed(self, trained_NV: Tensor, earlier_NV: Tensor) -> Tensor:
        if self.alpha == 1:
            return earlier_NV
        if self.of == PROBABILITIES:
            return torch.logaddexp(
                trained_NV.log_softmax(-1) + math.log1p(-self.alpha),
                earlier_NV.log_softmax(-1) + math.log(self.alpha),
            )
        return (1 - self.alpha) * trained_NV + self.alpha * earlier_NV
