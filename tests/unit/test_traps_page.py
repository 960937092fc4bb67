"""docs/traps.md shows what its code prints, and what it prints bears its words out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"trap ([\d.]+)   ours ([\d.]+) \[([\d.]+), ([\d.]+)\]   truth ([\d.]+)")


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "traps.md").read_text(encoding="utf-8")


def test_the_page_shows_what_its_code_prints(page: str) -> None:
    path = ROOT / "recipes" / "traps" / "refresh.py"
    spec = importlib.util.spec_from_file_location("refresh_traps", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert page.count("```python") > 7
    assert module.refreshed(page) == page


def test_ours_contains_the_truth_and_the_trap_is_outside_or_further_off(page: str) -> None:
    rows = [tuple(map(float, row)) for row in ROW.findall(page)]
    assert len(rows) == 7
    for trap, ours, low, high, truth in rows:
        assert low <= truth <= high
        assert abs(trap - truth) > abs(ours - truth)


def test_ungraded_bounds_hold_the_truth_and_stopping_is_no_change(page: str) -> None:
    bounds = re.search(r"ours between ([\d.]+) and ([\d.]+)   truth ([\d.]+)", page)
    assert bounds is not None
    low, high, truth = map(float, bounds.groups())
    assert low < truth < high
    change = re.search(r"ours, mean change: \S+ \[([-+\d.]+), ([-+\d.]+)\]   truth 0", page)
    assert change is not None
    assert float(change.group(1)) < 0 < float(change.group(2))
    assert "p < 1e-6: True" in page
