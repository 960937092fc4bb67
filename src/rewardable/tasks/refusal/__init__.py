"""A screen for refusals that were lost or that spread. It is not a safety evaluation."""

from __future__ import annotations

from rewardable.tasks.refusal.config import Refusal

__all__ = ["Refusal"]
