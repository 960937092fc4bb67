"""Random numbers that belong to a row: keyed by (seed, prompt key, index), whatever the batch."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray


def generator(seed: int, prompt_key: str, index: int) -> np.random.Generator:
    """Return the row's own generator: Philox under the digest of its key.

    Philox is counter-based (Salmon et al., 2011, "Parallel random numbers: as easy as 1, 2, 3"),
    so that streams under different keys do not overlap.
    """
    text = f"rewardable/{seed}/{index}/{prompt_key}"
    words = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u8")
    return np.random.Generator(np.random.Philox(key=words))


def uniforms(seed: int, prompt_key: str, index: int, count: int) -> NDArray[np.float64]:
    """Return the row's first ``count`` numbers in [0, 1); a longer draw begins with a shorter."""
    return generator(seed, prompt_key, index).random(count)
