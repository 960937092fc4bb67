"""Rollouts and verdicts on disk: atomic Parquet parts, read through DuckDB."""

from __future__ import annotations

from rewardable.records import UNKNOWN_SPEC
from rewardable.store.bulk import Bulk
from rewardable.store.counts import Counts
from rewardable.store.parted import parts_at
from rewardable.store.reading import Group
from rewardable.store.run import Run
from rewardable.store.samples import NOT_GRADED, Samples
from rewardable.store.wording import WordingBook, Wordings

__all__ = [
    "NOT_GRADED",
    "UNKNOWN_SPEC",
    "Bulk",
    "Counts",
    "Group",
    "Run",
    "Samples",
    "WordingBook",
    "Wordings",
    "parts_at",
]
