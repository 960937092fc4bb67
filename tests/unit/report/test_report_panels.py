"""Every table of a measurement stands in the page: its words and its numbers."""

from __future__ import annotations

from types import ModuleType

import pytest

from rewardable.measure import MeasureConfig, measure_run
from rewardable.report.numbers import interval, number
from rewardable.report.render import report_html
from rewardable.results import Table


@pytest.fixture(scope="module")
def tables(fake: ModuleType) -> dict[str, Table]:
    run, policies = fake.narrowing_run(48, 32, future=False)
    config = MeasureConfig(
        base=policies[0].key,
        trained=(policies[2].key,),
        draws=200,
        max_examples=0,
        fail_on=("distinct@16 falls > 5%", "pass@1 < 0.01"),
    )
    return measure_run(run, config)


@pytest.fixture(scope="module")
def page(tables: dict[str, Table]) -> str:
    html = report_html(tables, title="t")
    return html[: html.index('<script type="application/json"')]


def test_the_numbers_of_the_new_tables_are_shown(page: str, tables: dict[str, Table]) -> None:
    shown = 0
    for name in ("dynamics", "polarisation", "richness", "models"):
        for row in tables[name].rows:
            estimate = row.estimate
            signed = "certified" in row.labels
            assert number(estimate.value, signed=signed) in page
            assert interval(estimate, signed=signed) in page
            shown += 1
    assert shown > 40


@pytest.mark.parametrize(
    "words",
    [
        "What is retained, lost and discovered",
        "retention (SRR)",
        "retention if nothing had changed",
        "step 200 after base: solutions",
        "Always or never",
        "models, not measurements",
        "prompts near 0 (within ",
        "Coverage at equal successes, solution",
        "2 successes, ",
        "useful groups of 32",
        "pass^k, chance that all of k are right",
        "distinct@16 falls &gt; 5%: FAILED",
        "pass@1 &lt; 0.01: held",
    ],
)
def test_the_page_names_them(page: str, words: str) -> None:
    assert words in page


def test_a_failed_gate_is_marked(page: str) -> None:
    assert '<li class="down gate">distinct@16' in page
    assert '<li class="up gate">pass@1' in page


def test_a_page_without_the_tables_has_no_empty_sections(tables: dict[str, Table]) -> None:
    new = {"dynamics", "polarisation", "richness", "models", "gates"}
    few = {name: table for name, table in tables.items() if name not in new}
    html = report_html(few, title="t")
    for words in ("What is retained", "Always or never", "<h3>Gates</h3>", "equal successes,"):
        assert words not in html
