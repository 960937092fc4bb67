"""Open run folders that exist."""

from __future__ import annotations

from pathlib import Path

from rewardable.store import Run


def open_existing(path: Path) -> Run:
    """Open a run folder; DataError when there is none at ``path``."""
    return Run.open(path)
