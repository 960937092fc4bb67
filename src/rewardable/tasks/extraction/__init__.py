"""Fields of a text as JSON or as key-value lines, compared with gold field by field."""

from __future__ import annotations

from rewardable.tasks.extraction.config import Extraction

__all__ = ["Extraction"]
