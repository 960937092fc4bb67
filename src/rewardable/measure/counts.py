"""Outcomes of an arm's prompts as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CORRECT, WRONG, UNGRADED = 1, 0, -1


@dataclass(frozen=True)
class Counts:
    """Graded rollouts, successes and ungraded rollouts of each prompt."""

    n_P: Ints
    c_P: Ints
    u_P: Ints

    @property
    def all_wrong(self) -> Counts:
        """The counts if every ungraded rollout were wrong."""
        return Counts(self.n_P + self.u_P, self.c_P, 0 * self.u_P)

    @property
    def all_right(self) -> Counts:
        """The counts if every ungraded rollout were right."""
        return Counts(self.n_P + self.u_P, self.c_P + self.u_P, 0 * self.u_P)

    def at(self, places: Sequence[int]) -> Counts:
        """Return the counts of the prompts at these places."""
        index = np.asarray(places, dtype=np.int64)
        return Counts(self.n_P[index], self.c_P[index], self.u_P[index])


def no_counts() -> Counts:
    """Return the counts of no prompt."""
    nothing_P = np.zeros(0, dtype=np.int64)
    return Counts(nothing_P, nothing_P, nothing_P)
