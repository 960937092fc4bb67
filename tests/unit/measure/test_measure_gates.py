"""Gates: the grammar, when a gate fails, and what it says."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewardable.errors import ConfigError
from rewardable.measure import MeasureConfig, measure_run, parse_gate
from rewardable.measure.gates import gates_table, parse_gates
from rewardable.measure.study import load_study
from rewardable.metrics import pass_at_k, ratio_interval
from rewardable.results import Row

DOC = Path(__file__).resolve().parents[3] / "docs" / "gate.md"
EXAMPLES = re.search(r"```gate\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)


def test_the_documented_examples_parse_to_what_they_say() -> None:
    assert EXAMPLES is not None
    gates = {text: parse_gate(text) for text in EXAMPLES[1].splitlines()}
    assert len(gates) == 11
    for text, gate in gates.items():
        assert gate.text == text
        assert text.startswith(gate.name)

    def core(text: str) -> tuple[Any, ...]:
        gate = gates[text]
        return gate.metric, gate.k, gate.verb, gate.amount, gate.relative, gate.task, gate.policy

    assert core("support@64 falls > 5%") == ("support", 64, "falls", 0.05, True, "", "")
    assert core("support@64 falls > 3") == ("support", 64, "falls", 3.0, False, "", "")
    assert core("pass@1 falls > 2 points") == ("pass", 1, "falls", 0.02, False, "", "")
    assert core("pass^8 falls") == ("pass^", 8, "falls", 0.0, False, "", "")
    assert core("trainability falls > 20% on every task") == (
        "trainability", 0, "falls", 0.2, True, "*", "",
    )  # fmt: skip
    assert core("trainability@16 < 0.3") == ("trainability", 16, "<", 0.3, False, "", "")
    assert core("maj@8 < 60%") == ("maj", 8, "<", 0.6, False, "", "")
    assert core("solutions@16 falls > 0.5 on countdown for 'step 200'") == (
        "solutions", 16, "falls", 0.5, False, "countdown", "step 200",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("suport@64 falls > 5%", "unknown gate metric 'suport'. Did you mean 'support'"),
        ("support falls > 5%", "needs a budget, like support@64"),
        ("support64 falls > 5%", "must be written like support@64"),
        ("pass^@8 falls", "must be written like pass^64"),
        ("support@64 fall > 5%", "Did you mean 'falls'"),
        ("support@64 falls 5%", "after falls comes '> NUMBER', got '5%'"),
        ("support@64 falls > lots", "a number like 5% or 0.05 must follow, got lots"),
        ("support@64 falls >", "must follow, got nothing"),
        ("support@64 falls > -5%", "must follow, got -5%"),
        ("support@64 <", "must follow, got nothing"),
        ("support@64 falls > 5% points", "either % or points"),
        ("support@64 falls > 5% of base", "'of base' is no 'on TASK' or 'for POLICY'"),
        ("support@64 falls > 5% on", "is no 'on TASK'"),
        ("support@0 falls > 5%", "at least 1"),
        ("trainability@1 falls", "at least 2"),
        ("support@64 falls > 100%", "nothing falls by more than 100%"),
        ("support@64 falls > 3 points", "support is no share"),
        ("support@64 < 70%", "support is no share"),
        ("pass@1 falls > 5", "a share from 0 to 1"),
        ("pass@1 < 150%", "a share from 0 to 1"),
        ("support@64", "a gate is METRIC@K"),
        ("", "a gate is METRIC@K"),
    ],
)
def test_bad_gates_say_what_to_write(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)):
        parse_gate(text)


@pytest.fixture(scope="module")
def run(fake: ModuleType) -> tuple[Any, list[Any]]:
    return fake.narrowing_run(64, 64)


def judged(run: tuple[Any, list[Any]], *gates: str, **more: Any) -> tuple[Row, ...]:
    policies = run[1]
    told: dict[str, Any] = {
        "trained": tuple(policy.key for policy in policies[1:]), "draws": 200,
        "main_task": "countdown", "future_tasks": ("countdown-division",), "max_examples": 0,
    }  # fmt: skip
    config = MeasureConfig(base=policies[0].key, **{**told, **more}, fail_on=gates)
    return gates_table(load_study(run[0], config), parse_gates(config)).rows


def counts(run: tuple[Any, list[Any]], policy: int) -> np.ndarray:
    arm = run[0].arms_["countdown", run[1][policy].key, run[0].specs_[0].key]
    return (arm.choice_PN >= 0).sum(axis=1)


def test_a_gate_fails_exactly_when_the_whole_interval_lies_beyond(
    run: tuple[Any, list[Any]],
) -> None:
    u = [pass_at_k(64, counts(run, policy), 32) for policy in (0, 2)]
    truth = ratio_interval(u[1], u[0])
    low, high = truth.low - 1, truth.high - 1
    assert high < 0
    eps = 1e-6
    for verb, edge, outcome in (
        ("falls", -high - eps, "failed"),
        ("falls", -high + eps, "not shown"),
        ("falls", -low - eps, "not shown"),
        ("falls", -low + eps, "held"),
        ("rises", 0.0, "held"),
    ):
        (row,) = judged(run, f"pass@32 {verb} > {100 * edge:.9f}%")
        assert row.labels["outcome"] == outcome
        assert row.labels["after"] == "step 200"
        found = (row.estimate.value, row.estimate.low, row.estimate.high)
        assert found == pytest.approx((truth.mean - 1, low, high), abs=1e-9)
        assert (row.estimate.n_prompts, row.estimate.n_graded) == (64, 2 * 64 * 64)


def test_absolute_falls_and_levels_are_in_the_metrics_own_unit(
    run: tuple[Any, list[Any]],
) -> None:
    rows = judged(
        run, "support@32 falls > 0.01", "pass@32 falls > 0.01", "support@32 < 63", "pass@1 > 30%"
    )
    assert [row.labels["outcome"] for row in rows] == ["failed", "failed", "failed", "failed"]
    support, share, level, rate = (row.estimate for row in rows)
    assert support.value == pytest.approx(64 * share.value)
    u = pass_at_k(64, counts(run, 2), 32)
    assert level.value == pytest.approx(u.sum())
    assert rate.value == pytest.approx(counts(run, 2).mean() / 64)
    assert level.n_graded == 64 * 64


def test_every_metric_can_be_gated_on(run: tuple[Any, list[Any]]) -> None:
    names = ("pass@4", "pass^4", "support@4", "solutions@4", "coverage@4", "entries@4",
             "distinct@4", "trainability", "trainability@4")  # fmt: skip
    rows = judged(run, *(f"{name} falls > 90%" for name in names))
    assert [row.labels["metric"] for row in rows] == list(names)
    assert {row.labels["outcome"] for row in rows} == {"held"}
    assert all(-1 <= row.estimate.low <= row.estimate.value for row in rows)


def test_several_judgements_share_the_error(run: tuple[Any, list[Any]]) -> None:
    rows = judged(run, "trainability falls > 5% on every task for every policy")
    assert len(rows) == 4
    assert all(row.estimate.level == pytest.approx(1 - 0.05 / 4) for row in rows)
    assert {(row.labels["task"], row.labels["after"]) for row in rows} == {
        (task, after)
        for task in ("countdown", "countdown-division")
        for after in ("step 100", "step 200")
    }
    one = judged(run, "trainability falls > 5% on countdown-division for 'step 100'")
    assert len(one) == 1
    assert one[0].estimate.level == 0.95
    assert one[0].labels["after"] == "step 100"


def test_what_cannot_be_gated_on_is_refused(run: tuple[Any, list[Any]]) -> None:
    for text, told in (
        ("support@65 falls", "needs 65 graded rollouts of every prompt"),
        ("best@4 falls", "use pass@k"),
        ("maj@4 falls", "no label of their answer"),
        ("pass@1 falls on countdwn", "Did you mean 'countdown'"),
        ("pass@1 falls for 'step 20'", "Did you mean 'step 200'"),
    ):
        with pytest.raises(ConfigError, match=re.escape(told)):
            judged(run, text)
    with pytest.raises(ConfigError, match="one policy"):
        judged(run, "pass@1 falls", trained=())
    (level,) = judged(run, "pass@1 < 0.9", trained=())
    assert level.labels["policy"] == "base"


def test_nothing_solved_before_cannot_be_judged(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(30)
    policies = [run.add_policy(name) for name in ("base", "late")]
    for policy in policies:
        rows = [fake.Given(prompt=p, outcome=0, text=f"{i}") for p in range(30) for i in range(4)]
        run.give("hand", policy, rows)
    more = {"main_task": "hand", "future_tasks": ()}
    (row,) = judged((run, policies), "pass@2 falls > 5%", **more)
    assert row.labels["outcome"] == "cannot be judged"
    assert row.estimate.value is None
    (absolute,) = judged((run, policies), "pass@2 falls > 0.5", **more)
    assert absolute.labels["outcome"] == "held"


def test_the_bounds_of_a_relative_change_hold_the_extremes(fake: ModuleType) -> None:
    run = fake.narrowing_run(48, 32, ungraded=0.1, future=False)
    (row,) = judged(run, "pass@4 falls > 5%", future_tasks=())
    ends = []
    for policy in (0, 2):
        arm = run[0].arms_["countdown", run[1][policy].key, run[0].specs_[0].key]
        right = (arm.choice_PN >= 0) & ~arm.ungraded_PN
        most = right | arm.ungraded_PN
        ends.append([pass_at_k(32, one.sum(axis=1), 4).mean() for one in (right, most)])
    assert row.estimate.bound_low == pytest.approx(ends[1][0] / ends[0][1] - 1)
    assert row.estimate.bound_high == pytest.approx(ends[1][1] / ends[0][0] - 1)
    assert row.estimate.n_ungraded > 0
    assert re.search(r"ungraded: -?[\d.]+ to -?[\d.]+ % whatever they are", row.labels["text"])


def test_a_gate_says_its_figures_in_one_line(run: tuple[Any, list[Any]]) -> None:
    told = MeasureConfig(
        base=run[1][0].key, trained=(run[1][2].key,), main_task="countdown", draws=200,
        fail_on=("coverage@32 falls > 10%",),
    )  # fmt: skip
    (row,) = measure_run(run[0], told)["gates"].rows
    text = row.labels["text"]
    assert "\n" not in text
    assert text.startswith("coverage@32 falls > 10%: FAILED; countdown, step 200 against base: ")
    assert re.search(r"changed by -\d+\.?\d* % \[-.+, -.+\] \(95 % interval, 64 prompts", text)
