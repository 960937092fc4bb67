"""Paraphrases with the same gold: other templates, orders, number words, spaces, languages."""

from __future__ import annotations

from rewardable.tasks.perturb.paraphrase import WRITERS, PerturbedTask, paraphrased, perturb
from rewardable.tasks.perturb.wording import KINDS, PROTECTED, Wording

__all__ = ["KINDS", "PROTECTED", "WRITERS", "PerturbedTask", "Wording", "paraphrased", "perturb"]
