"""Populations of prompts whose truth is known: finite sets of (p before, p after) atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

ATOMS = 20_000
LARGEST_CLUSTER = 5
KEEP = 0.7


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

    @property
    def ks(self) -> np.ndarray:
        """Every budget that all prompts reach."""
        return np.arange(1, min(self.n_choices) + 1)

    def draw(self, rng, atom_P=None):
        """Return (n, successes before, successes after, p before, p after), one row a prompt."""
        atom = rng.integers(0, self.before_A.size, self.prompts) if atom_P is None else atom_P
        n = rng.choice(self.n_choices, self.prompts)
        p, q = self.before_A[atom], self.after_A[atom]
        return n, rng.binomial(n, p), rng.binomial(n, q), p, q

    def draw_clusters(self, rng):
        """Return prompts of clusters of 1 to 5 that mostly share their atom, and their labels."""
        size = rng.integers(1, LARGEST_CLUSTER + 1, self.prompts)
        cluster = np.repeat(np.arange(self.prompts), size)[: self.prompts]
        shared = rng.integers(0, self.before_A.size, self.prompts)[cluster]
        own = rng.integers(0, self.before_A.size, self.prompts)
        atom = np.where(rng.random(self.prompts) < KEEP, shared, own)
        return self.draw(rng, atom), cluster


def reach(p, k):
    """Return 1 - (1-p)^k."""
    return -np.expm1(k * np.log1p(-np.minimum(p, 1 - 1e-15)))


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
