"""Tables of a fake run against its known truth."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewardable.measure import MeasureConfig, measure_run
from rewardable.results import Table

N = 128


@pytest.fixture(scope="module")
def run(fake: ModuleType) -> tuple[Any, list[Any]]:
    return fake.narrowing_run(96, N)


@pytest.fixture(scope="module")
def tables(run: tuple[Any, list[Any]]) -> dict[str, Table]:
    return measure_run(run[0], config_of(run[1]))


def config_of(policies: list[Any], **more: Any) -> MeasureConfig:
    return MeasureConfig(
        base=policies[0].key,
        trained=tuple(policy.key for policy in policies[1:]),
        main_task="countdown",
        future_tasks=("countdown-division",),
        **more,
    )


def drawn(run: tuple[Any, list[Any]], policy: int, task: str = "countdown") -> Any:
    fake, policies = run
    return fake.arms_[task, policies[policy].key, fake.specs_[0].key]


def true_rate(run: tuple[Any, list[Any]], policy: int, task: str = "countdown") -> np.ndarray:
    return np.array([each.sum() for each in drawn(run, policy, task).text_probability])


def true_coverage(run: tuple[Any, list[Any]], policy: int, k: int) -> float:
    shares = []
    instances = run[0].tasks_["countdown"]
    for instance, each in zip(instances, drawn(run, policy).text_probability, strict=True):
        names = sorted(set(instance.solutions))
        masses = [sum(p for p, s in zip(each, instance.solutions, strict=True) if s == name)
                  for name in names]  # fmt: skip
        shares.append(np.mean(1 - (1 - np.array(masses)) ** k))
    return float(np.mean(shares))


@pytest.mark.parametrize("policy", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 4, 16, 64])
def test_true_pass_at_k_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table], policy: int, k: int
) -> None:
    truth = float(np.mean(1 - (1 - true_rate(run, policy)) ** k))
    name = run[1][policy].name
    for band in ("simultaneous", "pointwise"):
        found = tables["curves"].one(task="countdown", policy=name, metric="pass@k", k=k, band=band)
        assert found.low <= truth <= found.high
        assert abs(found.value - truth) < 0.03
    support = tables["curves"].one(
        task="countdown", policy=name, metric="support@k", k=k, band="simultaneous"
    )
    assert support.low <= 96 * truth <= support.high


@pytest.mark.parametrize("policy", [0, 1, 2])
@pytest.mark.parametrize("k", [1, 16, 64])
def test_true_coverage_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table], policy: int, k: int
) -> None:
    found = tables["coverage"].one(
        task="countdown", policy=run[1][policy].name, kind="solution", scope="all prompts", k=k,
        band="simultaneous",
    )  # fmt: skip
    truth = true_coverage(run, policy, k)
    assert found.low <= truth <= found.high
    assert abs(found.value - truth) < 0.03


@pytest.mark.parametrize("k", [1, 3, 64])
def test_true_differences_are_inside_and_called(
    run: tuple[Any, list[Any]], tables: dict[str, Table], k: int
) -> None:
    truth = float(np.mean((1 - true_rate(run, 0)) ** k - (1 - true_rate(run, 2)) ** k))
    rows = tables["differences"].select(
        task="countdown", after="step 200", metric="pass@k", k=k, band="simultaneous"
    )
    estimate = rows[0].estimate
    assert estimate.low <= truth <= estimate.high
    assert rows[0].labels["certified"] == {1: "rise", 3: "rise", 64: "fall"}[k]


@pytest.mark.parametrize("task", ["countdown", "countdown-division"])
@pytest.mark.parametrize("policy", [0, 2])
def test_true_trainability_is_inside_its_interval(
    run: tuple[Any, list[Any]], tables: dict[str, Table], task: str, policy: int
) -> None:
    p = true_rate(run, policy, task)
    truth = float(np.mean(1 - p**8 - (1 - p) ** 8))
    found = tables["trainability"].one(
        task=task, policy=run[1][policy].name, metric="trainability", group=8
    )
    assert found.low <= truth <= found.high


def test_lost_prompts_are_those_that_truly_died(
    run: tuple[Any, list[Any]], tables: dict[str, Table]
) -> None:
    dead = {
        instance.prompt.key
        for instance, p in zip(run[0].tasks_["countdown"], true_rate(run, 2), strict=True)
        if p == 0
    }
    rows = tables["transitions"].select(task="countdown", after="step 200", kind="prompt")
    lost = {row.labels["prompt"] for row in rows if row.labels["call"] == "lost"}
    assert len(rows) == 96
    assert lost
    assert lost <= dead
    summary = tables["transitions"].select(task="countdown", after="step 200", kind="summary")
    assert sum(row.estimate.value for row in summary) == 96


def test_landmarks_of_the_loss(tables: dict[str, Table]) -> None:
    common = {"task": "countdown", "after": "step 200", "of": "pass@k"}
    crossing = tables["differences"].one(metric="crossing", **common)
    first = tables["differences"].one(metric="first certified loss", **common)
    assert 8 < crossing.value <= first.value <= 64


def test_examples_quote_lost_prompts_first(tables: dict[str, Table]) -> None:
    examples = [e for e in tables["examples"].examples if e.labels["task"] == "countdown"]
    assert examples[0].labels["call"] == "lost"
    assert examples[0].labels["side"] == "before"
    assert examples[0].labels["outcome"] == "correct"
    after = [e for e in examples if e.labels["rank"] == 0 and e.labels["side"] == "after"]
    assert {e.labels["outcome"] for e in after} == {"wrong"}
    assert len(after) == 3
    assert {e.labels["policy"] for e in examples} == {"base", "step 200"}


def test_shape_follows_the_fake(tables: dict[str, Table]) -> None:
    shape = tables["shape"]
    entropy = shape.one(task="countdown", policy="step 200", metric="first-token entropy")
    assert entropy.value == pytest.approx(0.35, rel=0.01)
    cut = shape.one(task="countdown", policy="base", metric="truncation rate")
    assert cut.low < 0.05 * (1 - 0.32) < cut.high
    fall = shape.select(task="countdown", after="step 200", metric="distinct outputs", k=10)
    assert fall[0].labels["certified"] == "fall"
    assert fall[0].labels["unit"] == "texts"


def test_same_input_gives_the_same_tables(run: tuple[Any, list[Any]]) -> None:
    assert measure_run(run[0], config_of(run[1], draws=200)) == measure_run(
        run[0], config_of(run[1], draws=200)
    )
