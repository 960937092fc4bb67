"""Student's t for a mean, corrected for skewness (Hall 1992): deterministic and vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from rewardable.metrics.checks import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class SkewT:
    """What the interval of a mean needs: standard error, its degrees of freedom, skewness."""

    mean_K: Floats
    error_K: Floats
    gamma_K: Floats
    freedom_K: Floats
    size: int

    def ends(self, critical: float) -> tuple[Floats, Floats]:
        """Return the interval ends at the normal critical value ``critical`` (1.96 for 95 %).

        The critical value is first widened to Student's t with as many degrees of freedom as the
        variance estimate has, 2 M / (kurtosis - 1), at most M - 1; then the monotone cubic
        transformation of Hall (1992, JRSS B 54) is inverted, which removes the
        skewness term of the Edgeworth expansion of the Studentised mean.
        """
        t = stdtrit(self.freedom_K, ndtr(min(critical, 8.0)))
        low = self.mean_K - self.error_K * self._inverse(t)
        return low, self.mean_K - self.error_K * self._inverse(-t)

    def _inverse(self, z: Floats) -> Floats:
        flat = np.abs(self.gamma_K) < 1e-6
        gamma = np.where(flat, 1.0, self.gamma_K)
        root = np.sqrt(self.size)
        inner = 1 + gamma * (z / root - gamma / (6 * self.size))
        return np.where(flat, z, 3 * root / gamma * (np.cbrt(inner) - 1))


def skew_t(mean_K: Floats, residual_MK: Floats) -> SkewT:
    """Measure standard error (divisor M - 1) and small-sample corrected skewness."""
    size = residual_MK.shape[0]
    square = residual_MK * residual_MK
    total = square.sum(0)
    third = np.einsum("mk,mk->k", square, residual_MK) / size
    second = total / size
    with np.errstate(invalid="ignore", divide="ignore"):
        gamma = np.where(second > 0, third / second**1.5, 0.0)
        fourth = np.einsum("mk,mk->k", square, square) / size
        excess = np.where(second > 0, fourth / second**2 - 1, 2.0)
    if size > 2:
        gamma = gamma * np.sqrt(size * (size - 1)) / (size - 2)
    error = np.sqrt(second / (size - 1)) if size > 1 else np.full_like(second, np.nan)
    freedom = np.clip(2 * size / np.maximum(excess, 1e-9), 1.0, max(size - 1, 1))
    return SkewT(mean_K=mean_K, error_K=error, gamma_K=gamma, freedom_K=freedom, size=size)
