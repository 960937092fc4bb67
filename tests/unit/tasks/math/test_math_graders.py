"""Row by row against what other graders' tests assert; every difference is named."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def agreement():
    path = ROOT / "benchmarks" / "math" / "agreement.py"
    spec = importlib.util.spec_from_file_location("math_agreement", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_seventh_of_the_rows_agrees_but_for_the_known_ones(agreement, shared_data):
    """All rows: tests/slow/test_math_agreement.py."""
    for name in agreement.FILES:
        cases = list(agreement.cases(shared_data / "data" / "graders", name))[1::7]
        known = {case.id for case in cases if case.id in agreement.known()}
        assert {case.id for case in cases if agreement.verdict(case) is not case.expected} == known


def test_metric_cases_follow_from_the_verdicts(agreement, shared_data):
    rows = dict(agreement.metric_rows(shared_data / "data" / "graders"))
    known = {case for case in agreement.known() if case.startswith("lighteval:")}
    assert len(rows) == 24
    assert {case for case, agrees in rows.items() if not agrees} == known


def test_every_kind_of_difference_is_explained(agreement):
    text = (ROOT / "docs" / "math-graders.md").read_text(encoding="utf-8")
    assert [kind for kind in set(agreement.known().values()) if kind not in text] == []
