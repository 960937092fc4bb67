"""The metric reference is the docstrings."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.workflows.explain import HEADINGS, WRITTEN, explain, metric_names, reference

DOCS = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_has_the_headings(name: str) -> None:
    text = explain(name)
    assert [heading for heading in HEADINGS if f"\n{heading}\n---" not in text] == []


def test_unknown_metric_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="pass_at_k"):
        explain("pass_at")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("support@64", "pass_at_k"), ("pass@k", "pass_at_k"), ("pass^8", "pass_hat_k"),
        ("coverage@n", "coverage"), ("trainability@16", "trainability"), ("lost", "transitions"),
        ("SRR", "support_dynamics"), ("maj@8", "maj_at_k"),
    ],
)  # fmt: skip
def test_names_of_tables_and_gates_are_explained(written: str, name: str) -> None:
    assert explain(written) == explain(name)


def test_written_names_lead_to_metrics() -> None:
    assert set(WRITTEN.values()) <= set(metric_names())


def test_the_page_in_docs_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == reference()
