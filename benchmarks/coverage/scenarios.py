"""Populations of prompts whose truth is known: finite sets of (p before, p after) atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

ATOMS = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """Draw M prompts with replacement from the atoms, then n rollouts of each policy.

    n_choices: rollouts per prompt, one drawn for each prompt and shared by both policies.
    """

    name: str
    before_A: np.ndarray
    after_A: np.ndarray
    prompts: int
    n_choices: tuple[int, ...] = (64,)

    @property
    def key(self) -> str:
        return f"{self.name}/M={self.prompts}"

    def draw(self, rng):
        atom = rng.integers(0, self.before_A.size, self.prompts)
        n = rng.choice(self.n_choices, self.prompts)
        p, q = self.before_A[atom], self.after_A[atom]
        return n, rng.binomial(n, p), rng.binomial(n, q), p


def beta_atoms(a, b):
    return betaincinv(a, b, (np.arange(ATOMS) + 0.5) / ATOMS)


def trained(before, seed=0):
    """Sharpen: a tenth of the prompts is lost, the others move away from the middle."""
    rng = np.random.default_rng(seed)
    odds = (before / np.maximum(1 - before, 1e-12)) ** 1.4 * 1.5
    after = odds / (1 + odds)
    after[rng.random(before.size) < 0.1] = 0.0
    return after


def scenarios():
    shapes = {
        "common": beta_atoms(2, 2),
        "rare": np.linspace(0, 0.01, ATOMS),
        "polarised": beta_atoms(0.15, 0.15),
        "hard": beta_atoms(0.2, 4),
        "easy": beta_atoms(8, 1),
    }
    found = []
    for prompts in (30, 500):
        for name, before in shapes.items():
            found.append((name, before, trained(before), prompts, (64,)))
        before = beta_atoms(0.5, 1.5)
        found.append(("unequal-n", before, trained(before), prompts, (32, 64, 128)))
        found.append(("unchanged", before, before, prompts, (64,)))
    names = ("name", "before_A", "after_A", "prompts", "n_choices")
    return [Scenario(**dict(zip(names, row, strict=True))) for row in found]
