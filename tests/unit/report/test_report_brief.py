"""Task names in the report."""

from __future__ import annotations

from rewardable.report.brief import shortened
from rewardable.results import Estimate, Example, Row, Table


def test_options_are_left_out_only_where_the_name_stays_unique() -> None:
    tasks = ["a:n=1", "b:n=1", "b:n=2", "c"]
    rows = tuple(Row(labels={"task": task}, estimate=Estimate(value=None)) for task in tasks)
    example = Example(labels={"task": "a:n=1"}, prompt="p", completion="c")
    table = Table(name="t", title="T", rows=rows, examples=(example,))
    short = shortened({"t": table})["t"]
    assert [row.labels["task"] for row in short.rows] == ["a", "b:n=1", "b:n=2", "c"]
    assert short.examples[0].labels["task"] == "a"
