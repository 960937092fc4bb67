"""The page of ``restore`` shows what the table says, and escapes names."""

from __future__ import annotations

from pathlib import Path

from rewardable.report.pareto import pareto, render_restored
from rewardable.results import Estimate, Row, Table


def rows(split: str, policy: str, role: str, kept: float, found: float | None) -> list[Row]:
    labels = {"split": split, "policy": policy, "role": role, "family": role, "passes": 1.0}
    of_level = [
        Row(
            labels={**labels, "of": "level", "metric": metric},
            estimate=Estimate(value=value, low=value and value - 0.1, high=value and value + 0.1,
                              n_prompts=16),
        )
        for metric, value in (("pass@1", kept), ("coverage@8", found))
    ]  # fmt: skip
    change = Row(
        labels={**labels, "of": "change", "metric": "pass@1, one-sided", "margin": 0.01,
                "certified": False, "carried": 0.031},
        estimate=Estimate(value=-0.004, low=-0.02, n_prompts=16),
    )  # fmt: skip
    return [*of_level, change]


def table() -> Table:
    found = [
        *rows("selection", "trained", "trained", 0.7, 0.4),
        *rows("selection", "<b>uniform</b> 0.4", "chosen", 0.69, 0.8),
        *rows("selection", "nothing known", "candidate", 0.5, None),
        *rows("confirmation", "trained", "trained", 0.71, 0.41),
    ]
    return Table(name="restore", title="t", rows=tuple(found), notes=("A sentence.",))


def test_page_has_both_splits_and_the_margins(tmp_path: Path):
    at = render_restored(table(), tmp_path / "r.html", title="Restored", objective="coverage@8")
    page = at.read_text("utf-8")
    assert page.index("The proof") < page.index("The search")
    assert "A sentence." in page
    assert "not certified within" in page
    assert "the prompts carry" in page
    assert "<b>uniform" not in page


def test_policies_without_a_value_are_no_points():
    levels = table().select(split="selection", of="level")
    figure = pareto(levels, "coverage@8")
    assert figure is not None
    assert "16 prompts" in figure.caption
    assert pareto(levels, "coverage@64") is None
