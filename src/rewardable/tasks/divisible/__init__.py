"""Divisible by seven: one word of an answer, and a constant one is right most of the time."""

from __future__ import annotations

from rewardable.tasks.divisible.config import Divisible

__all__ = ["Divisible"]
