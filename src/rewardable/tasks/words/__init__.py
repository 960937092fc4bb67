"""Easy word problems of one or two steps, for small language models."""

from __future__ import annotations

from rewardable.tasks.words.config import WordProblems

__all__ = ["WordProblems"]
