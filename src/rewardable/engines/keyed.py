"""Random numbers that belong to a row: keyed by (seed, prompt key, index), whatever the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

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


SEED_BITS, ROOM = 31, 1 << 20


def first_seed(seed: int, prompt_key: str) -> int:
    """Return the seed of row 0 for engines that take a seed a row; row i gets this plus i.

    Consecutive rows have consecutive seeds, as vLLM gives to the samples of one request; all fit
    into 31 bits, which every server takes.
    """
    text = f"rewardable/{seed}/rows/{prompt_key}"
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return number % ((1 << SEED_BITS) - ROOM)


def consecutive(indices: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Split into runs of consecutive indices, at most ``most`` long.

    >>> list(consecutive((0, 1, 2, 5, 6), 2))
    [(0, 1), (2,), (5, 6)]
    """
    run: list[int] = []
    for index in sorted(indices):
        if run and (index != run[-1] + 1 or len(run) == most):
            yield tuple(run)
            run = []
        run.append(index)
    if run:
        yield tuple(run)
