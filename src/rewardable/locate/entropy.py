"""Entropy of the next token: exact where the engine gives it, bounded or estimated elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.locate.likelihood import Tokens, prompt_means
from rewardable.metrics import Interval, mean_interval

Floats = npt.NDArray[np.float64]

EXACT, SAMPLED = "exact logits", "sampling estimate"


def entropy_bounds(top_logprobs: Sequence[float], vocabulary: int) -> tuple[float, float]:
    """Return the smallest and largest entropy (nats) that the top log-probs allow.

    The mass that is not shown lies in tokens none of which is likelier than the least shown one:
    packed as tightly as that allows it gives the lower bound, spread evenly over the rest of the
    ``vocabulary`` the upper.

    >>> low, high = entropy_bounds([-0.6931, -1.3863], vocabulary=4)
    >>> round(low, 3), round(high, 3)
    (1.04, 1.213)
    """
    p = np.exp(np.asarray(top_logprobs, dtype=np.float64))
    if p.size == 0 or p.sum() > 1 + 1e-3:
        raise DataError(f"top log-probs must be a part of a distribution, got mass {p.sum():.4f}.")
    shown = float(-(p * np.log(p)).sum())
    rest = max(0.0, 1.0 - float(p.sum()))
    others = vocabulary - p.size
    if rest < 1e-12 or others <= 0:
        return shown, shown
    most = float(p.min())
    whole, left = divmod(rest, most)
    low = -whole * most * np.log(most) - (left * np.log(left) if left > 0 else 0.0)
    return shown + float(low), shown + float(-rest * np.log(rest / others))


def entropy_by_position(
    tokens: Tokens, policy: str, *, most: int = 24, level: float = 0.95
) -> list[tuple[int, Interval, int]]:
    """Return (position, mean entropy, prompts) at the first ``most`` positions."""
    last = min(most, int(tokens.position_T.max(initial=-1)) + 1)
    values = tokens.entropy_T[policy]
    return [(j, *_mean(tokens, values, tokens.position_T == j, level)) for j in range(last)]


def entropy_by_phase(
    tokens: Tokens, policy: str, *, level: float = 0.95
) -> list[tuple[str, Interval, int]]:
    """Return (phase, mean entropy a token, prompts)."""
    values = tokens.entropy_T[policy]
    return [
        (name, *_mean(tokens, values, tokens.phase_T == j, level))
        for j, name in enumerate(tokens.phases)
        if (tokens.phase_T == j).any()
    ]


def sampled_entropy(tokens: Tokens, policy: str, phase: str, *, level: float = 0.95) -> Interval:
    """Estimate a phase's entropy a token from the policy's own samples at temperature 1.

    -log p of a token that was drawn from p is an unbiased estimate of p's entropy.
    """
    keep = tokens.phase_T == tokens.phases.index(phase)
    return _mean(tokens, -tokens.logp_T[policy], keep, level)[0]


def _mean(
    tokens: Tokens, values_T: Floats, keep_T: npt.NDArray[np.bool_], level: float
) -> tuple[Interval, int]:
    mean_P = prompt_means(tokens, values_T, keep_T)
    seen = mean_P[~np.isnan(mean_P)]
    return mean_interval(seen, level=level, bounds=None), int(seen.size)
