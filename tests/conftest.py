"""Where tests find the shared benchmark data, and what happens when it is not there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


WHOLE = ("cli", "workflows", "report", "golden", "torch", "browser", "slow")
"""Folders whose tests run whole verbs, draw pages, read data or models: not the pure tier."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is not pure, so that `make check` runs the rest alone."""
    for item in items:
        if set(WHOLE) & set(item.path.relative_to(ROOT).parts):
            item.add_marker(pytest.mark.whole)


def _skip_or_fail(reason: str) -> None:
    if os.environ.get("REWARDABLE_REQUIRE_DATA") == "1":
        pytest.fail(f"REWARDABLE_REQUIRE_DATA=1 but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with ``data/`` and ``cases.jsonl``: $REWARDABLE_SHARED, else ``../shared``."""
    path = Path(os.environ.get("REWARDABLE_SHARED", ROOT.parent / "shared"))
    if not (path / "cases.jsonl").is_file():
        _skip_or_fail(f"no benchmark data at {path}; set REWARDABLE_SHARED to the folder")
    return path


@pytest.fixture(scope="session")
def cases(shared_data: Path) -> dict[str, dict[str, Any]]:
    """Cases from public bug reports, by id (``C01``, ``P02``...)."""
    lines = (shared_data / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line.strip()]
    return {row["id"]: row for row in rows}
