"""Two prompts with four rollouts each, every number worked out by hand."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from rewardable.measure import MeasureConfig, budgets, measure_run
from rewardable.measure.config import headline_budget
from rewardable.results import Table


@pytest.fixture
def hand(fake: ModuleType) -> tuple[Any, Any, Any]:
    """Before: p0 has A, B and two wrong, p1 none. After: p0 has A four times, p1 has C once."""
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(2)
    before, after = run.add_policy("before"), run.add_policy("after")
    given = fake.Given
    run.give("hand", before, [
        given(0, 1, "a", "A"), given(0, 1, "b", "B"), given(0, 0, "x"), given(0, 0, "x", finish=1),
        given(1, 0, "x"), given(1, 0, "y"), given(1, 0, "z"), given(1, 0, "z", finish=1),
    ])  # fmt: skip
    run.give("hand", after, [given(0, 1, "a", "A")] * 4 + [
        given(1, 1, "c", "C"), given(1, 0, "x"), given(1, 0, "x"), given(1, 0, "x"),
    ])  # fmt: skip
    return run, before, after


@pytest.fixture
def tables(hand: tuple[Any, Any, Any]) -> dict[str, Table]:
    run, before, after = hand
    return measure_run(run, MeasureConfig(base=before.key, trained=(after.key,), group=2))


def value(table: Table, **labels: Any) -> float:
    if "k" in labels and table.name in {"curves", "differences", "coverage"}:
        labels["band"] = "simultaneous"
    found = table.one(**labels).value
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("policy", "metric", "k", "expected"),
    [
        ("before", "pass@k", 1, 0.25),
        ("before", "pass@k", 2, (5 / 6 + 0) / 2),
        ("before", "pass@k", 3, 0.5),
        ("before", "support@k", 2, 5 / 6),
        ("after", "pass@k", 1, (1 + 0.25) / 2),
        ("after", "support@k", 4, 2.0),
        ("before", "solutions@k", 1, (2 * 0.25 + 0) / 2),
        ("before", "solutions@k", 2, (2 * 0.5 + 0) / 2),
        ("after", "solutions@k", 4, 1.0),
    ],
)
def test_curves(
    tables: dict[str, Table], policy: str, metric: str, k: int, expected: float
) -> None:
    assert value(tables["curves"], policy=policy, metric=metric, k=k) == pytest.approx(expected)


def test_differences_are_after_minus_before(tables: dict[str, Table]) -> None:
    found = value(tables["differences"], after="after", metric="pass@k", k=1)
    assert found == pytest.approx(0.625 - 0.25)


def test_prompts_with_any_success_and_the_zero_bound(tables: dict[str, Table]) -> None:
    curves = tables["curves"]
    assert value(curves, policy="before", metric="prompts with any success") == 1.0
    bound = curves.one(policy="before", metric="rate that 0 of n allows")
    assert bound.high == pytest.approx(1 - 0.025 ** (1 / 4))
    assert bound.n_prompts == 1
    none = curves.one(policy="after", metric="rate that 0 of n allows")
    assert none.value is None
    assert none.warnings == ("every prompt has a success",)


def test_coverage_is_over_all_existing_solutions(tables: dict[str, Table]) -> None:
    table = tables["coverage"]
    common = {"kind": "solution", "scope": "all prompts"}
    assert value(table, policy="before", k=4, **common) == pytest.approx((2 / 4 + 0) / 2)
    assert value(table, policy="before", k=2, **common) == pytest.approx((1 / 4 + 0) / 2)
    assert value(table, policy="after", k=4, **common) == pytest.approx(1 / 4)
    solved = {"kind": "solution", "scope": "prompts that all policies solve"}
    assert value(table, policy="before", k=4, **solved) == pytest.approx(0.5)
    assert value(table, after="after", k=4, **solved) == pytest.approx(0.25 - 0.5)


def test_trainability_and_variance(tables: dict[str, Table]) -> None:
    table = tables["trainability"]
    assert value(table, policy="before", metric="trainability") == pytest.approx((4 / 6) / 2)
    assert value(table, policy="after", metric="trainability") == pytest.approx((3 / 6) / 2)
    assert value(table, policy="before", metric="reward variance") == pytest.approx((1 / 3) / 2)


def test_shape_and_truncation(tables: dict[str, Table]) -> None:
    shape, cut = tables["shape"], tables["truncation"]
    assert value(shape, policy="before", metric="distinct outputs", k=4) == 3.0
    assert value(shape, policy="before", metric="truncation rate") == 0.25
    wrong = {"policy": "before", "metric": "pass@k", "k": 1}
    assert cut.one(truncated="as judged", **wrong).value == pytest.approx(0.25)
    assert cut.one(truncated="counted as wrong", **wrong).value == pytest.approx(0.25)
    assert cut.one(truncated="left out", **wrong).value == pytest.approx((2 / 3 + 0) / 2)
    assert not shape.select(metric="first-token entropy")
    assert any("first-token entropy" in note for note in shape.notes)


def test_no_interval_is_claimed_as_certain_from_two_prompts(tables: dict[str, Table]) -> None:
    rows = tables["differences"].select(metric="pass@k", band="simultaneous")
    assert {row.labels["certified"] for row in rows} == {"none"}
    plain = tables["verdict"].select(topic="plain")[0].labels["text"]
    assert " rose" not in plain
    assert " fell" not in plain


def test_budgets() -> None:
    assert budgets(1) == (1,)
    assert budgets(10) == (1, 2, 3, 4, 6, 8, 10)
    assert budgets(100)[-2:] == (96, 100)
    assert budgets(50, (64, 8, 1)) == (1, 8)
    assert headline_budget(budgets(128), 128) == 64
    assert headline_budget(budgets(100), 100) == 32
    assert headline_budget(budgets(1), 1) == 1
    assert headline_budget(budgets(128), 128, headline_k=100) == 96
