"""Which prompts are worth training on: those whose groups are likely to vary."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from rewardable.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainabilityBand:
    """Keep prompts whose groups of ``group_size`` vary with a probability in [low, high]."""

    group_size: int = 16
    low: float = 0.2
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        if self.group_size < 2:
            raise ConfigError(f"group_size must be at least 2, got {self.group_size}.")
        if not 0.0 <= self.low <= self.high <= 1.0:
            raise ConfigError(f"0 <= low <= high <= 1 is needed, got {self.low}, {self.high}.")


def variation(n: int, c: int, group_size: int) -> float:
    """Return the probability that a group of G answers holds a right and a wrong one.

    From c right answers of n. Where n >= G the unbiased estimate,
    1 - [C(c, G) + C(n - c, G)] / C(n, G). With fewer answers there is none; then the mean under
    the posterior of Jeffreys' prior, which never calls a prompt hopeless for a few failures.

    >>> round(variation(4, 2, 2), 4)
    0.6667
    """
    if n < 0 or not 0 <= c <= n:
        raise DataError(f"counts must be 0 <= c <= n, got n={n}, c={c}.")
    g = group_size
    if n >= g:
        return 1.0 - (math.comb(c, g) + math.comb(n - c, g)) / math.comb(n, g)
    return 1.0 - _all_right(c + 0.5, n - c + 0.5, g) - _all_right(n - c + 0.5, c + 0.5, g)


def _all_right(a: float, b: float, g: int) -> float:
    """Return E[p ** g] for p from Beta(a, b)."""
    log = math.lgamma(a + g) - math.lgamma(a) + math.lgamma(a + b) - math.lgamma(a + b + g)
    return math.exp(log)


def trainable_prompts(counts: Mapping[str, tuple[int, int]], band: TrainabilityBand) -> list[str]:
    """Return the keys of the prompts inside the band, in order, from their (n, c).

    Raises
    ------
    DataError: none is left, or counts that cannot be.
    """
    shares = {key: variation(n, c, band.group_size) for key, (n, c) in counts.items()}
    kept = [key for key, share in shares.items() if band.low <= share <= band.high]
    if not kept:
        top = max(shares.values(), default=0.0)
        raise DataError(
            f"no prompt of {len(shares)} varies with a probability in [{band.low}, {band.high}] at "
            f"group size {band.group_size}; the highest is {top:.3f}. Widen the band."
        )
    return kept
