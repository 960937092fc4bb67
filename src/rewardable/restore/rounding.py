"""How far stored values are from computed ones."""

from __future__ import annotations

import torch

from rewardable.errors import DataError
from rewardable.restore.mixing import Piece
from rewardable.restore.report import Rounding

NAMES = {
    torch.float64: "float64",
    torch.float32: "float32",
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
}


class Tally:
    """Adds up rounding errors for one stored type."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.elements = self.moved = self.lost = self.compared = 0
        self.max_abs = self.max_ulp = self.sum_abs = self.sum_ulp = 0.0

    def store(self, piece: Piece, name: str) -> torch.Tensor:
        """Return the piece in the stored type, its error added; DataError when it overflows."""
        stored = piece.values.to(self.dtype)
        if not bool(stored.isfinite().all()):
            raise DataError(
                f"{name} overflows {NAMES[self.dtype]} (largest value "
                f"{float(piece.values.abs().max()):.3g}); store it as float32 or bfloat16."
            )
        if stored.numel():
            self._add(piece, stored)
        return stored

    def _add(self, piece: Piece, stored: torch.Tensor) -> None:
        kept = stored.to(piece.values.dtype)
        self.elements += stored.numel()
        if stored.dtype != piece.values.dtype:
            error = (kept - piece.values).abs().double()
            ulps = error / spacing(stored)
            self.max_abs = max(self.max_abs, float(error.max()))
            self.max_ulp = max(self.max_ulp, float(ulps.max()))
            self.sum_abs += float(error.sum())
            self.sum_ulp += float(ulps.sum())
        if piece.trained is not None:
            moved = piece.values != piece.trained
            self.compared += stored.numel()
            self.moved += int(moved.sum())
            self.lost += int((moved & (kept == piece.trained)).sum())

    def result(self) -> Rounding:
        """Return the totals."""
        return Rounding(
            dtype=NAMES[self.dtype],
            elements=self.elements,
            max_abs=self.max_abs,
            mean_abs=self.sum_abs / max(1, self.elements),
            max_ulp=self.max_ulp,
            mean_ulp=self.sum_ulp / max(1, self.elements),
            moved=self.moved / max(1, self.compared),
            lost=self.lost / max(1, self.moved),
        )


def spacing(stored: torch.Tensor) -> torch.Tensor:
    """Return one ulp at each value, in float64; below the normal range the smallest step."""
    info = torch.finfo(stored.dtype)
    floor = info.smallest_normal
    _, exponent = stored.double().abs().clamp_min(floor).frexp()
    return torch.ldexp(torch.full_like(exponent, 1, dtype=torch.float64), exponent - 1) * info.eps
