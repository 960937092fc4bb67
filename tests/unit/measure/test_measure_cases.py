"""What a measurement does with awkward runs: refuses, says so, or bounds."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.measure import MeasureConfig, measure_run
from rewardable.records import SamplingSpec
from rewardable.results import Table, table_from_json, table_to_json
from rewardable.store import UNKNOWN_SPEC, Counts


def two_arms(fake: ModuleType, **more: Any) -> tuple[Any, MeasureConfig]:
    run, policies = fake.narrowing_run(40, 32, future=False, **more)
    return run, MeasureConfig(base=policies[0].key, trained=(policies[2].key,), draws=200)


def simultaneous(table: Table, **labels: Any) -> Any:
    return table.one(band="simultaneous", **labels)


def test_every_table_survives_json(fake: ModuleType) -> None:
    run, config = two_arms(fake, ungraded=0.02)
    for name, table in measure_run(run, config).items():
        assert table.name == name
        assert table_from_json(table_to_json(table)) == table
        assert table.provenance["measure"]["base"] == config.base


def test_ungraded_rollouts_are_counted_and_bounded(fake: ModuleType) -> None:
    run, config = two_arms(fake, ungraded=0.05)
    tables = measure_run(run, config)
    arm = run.arms_["countdown", config.base, run.specs_[0].key]
    hidden = int(arm.ungraded_PN.sum())
    found = simultaneous(tables["curves"], policy="base", metric="pass@k", k=1)
    assert found.n_ungraded == hidden
    assert found.n_graded == 40 * 32 - hidden
    right = (arm.choice_PN >= 0) & ~arm.ungraded_PN
    assert found.bound_low == pytest.approx(right.sum() / (40 * 32))
    assert found.bound_high == pytest.approx((right.sum() + hidden) / (40 * 32))
    assert found.bound_low < found.value < found.bound_high
    change = simultaneous(tables["differences"], after="step 200", metric="pass@k", k=1)
    after = simultaneous(tables["curves"], policy="step 200", metric="pass@k", k=1)
    assert change.bound_low == pytest.approx(after.bound_low - found.bound_high)
    assert change.bound_high == pytest.approx(after.bound_high - found.bound_low)
    assert any("ungraded (timeout: 5 s: " in note for note in tables["overview"].notes)
    ungraded = tables["verdict"].select(topic="ungraded")[0].labels["text"]
    assert "rollouts are ungraded and in no estimate" in ungraded


def test_budgets_beyond_the_graded_rollouts_have_no_value_but_bounds(fake: ModuleType) -> None:
    run, config = two_arms(fake, ungraded=0.05)
    tables = measure_run(run, config)
    found = simultaneous(tables["curves"], policy="base", metric="pass@k", k=32)
    assert found.value is None
    assert found.low is None
    assert "undefined for" in found.warnings[-1]
    assert found.bound_low <= found.bound_high
    assert any("hide the gap" in note for note in tables["overview"].notes)


def test_coverage_bounds_hold_whatever_the_ungraded_are(fake: ModuleType) -> None:
    run, config = two_arms(fake, ungraded=0.05)
    labels = {"policy": "base", "kind": "solution", "scope": "all prompts", "k": 16}
    hidden = simultaneous(measure_run(run, config)["coverage"], **labels)
    for arm in run.arms_.values():
        arm.ungraded_PN = np.zeros_like(arm.ungraded_PN)
    known = simultaneous(measure_run(run, config)["coverage"], **labels)
    assert hidden.bound_low <= known.value <= hidden.bound_high
    assert known.bound_low is None


def test_one_policy_alone_is_described(fake: ModuleType) -> None:
    run, config = two_arms(fake)
    tables = measure_run(run, MeasureConfig(base=config.base))
    assert not tables["differences"].rows
    assert not tables["transitions"].rows
    assert not tables["examples"].examples
    text = tables["verdict"].notes[0]
    assert text.startswith("countdown: base at T=1 alone (40 prompts, 32 samples each).")
    assert "support@16 (of 40 prompts): " in text


def test_only_common_prompts_are_compared_and_the_table_says_so(fake: ModuleType) -> None:
    run, config = two_arms(fake)
    arm = run.arms_["countdown", config.trained[0], run.specs_[0].key]
    arm.choice_PN = arm.choice_PN[:30]
    arm.ungraded_PN, arm.cut_PN = arm.ungraded_PN[:30], arm.cut_PN[:30]
    tables = measure_run(run, config)
    note = tables["overview"].notes[0]
    assert "30 of 40 prompts have graded rollouts of every policy" in note
    assert "the other 10 are left out" in note
    assert simultaneous(tables["curves"], policy="base", metric="pass@k", k=1).n_prompts == 30


def test_no_common_prompt_is_an_error_with_numbers(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(4)
    before, after = run.add_policy("before"), run.add_policy("after")
    run.give("hand", before, [fake.Given(0, 1, "a"), fake.Given(1, 0, "b")])
    run.give("hand", after, [fake.Given(2, 1, "a"), fake.Given(3, -1, "b")])
    with pytest.raises(DataError, match=r"before at T=1: 2 prompts.*after at T=1: 2 prompts, 1 w"):
        measure_run(run, MeasureConfig(base=before.key, trained=(after.key,)))


def test_other_templates_only_when_told(fake: ModuleType) -> None:
    run, config = two_arms(fake)
    other = run.add_policy("chat", template="abc123")
    run.add_arm("countdown", other, 32, fake.Behaviour(rate_P=np.full(40, 0.5), spread=1.0), 5)
    told = {"base": config.base, "trained": (other.key,)}
    with pytest.raises(ConfigError, match="different prompt templates"):
        measure_run(run, MeasureConfig(**told))
    tables = measure_run(run, MeasureConfig(**told, compare_templates=True))
    assert "Policies under different prompt templates" in tables["overview"].notes[0]


def test_specs_must_be_named_when_there_are_several(fake: ModuleType) -> None:
    run, config = two_arms(fake)
    run.specs_.append(SamplingSpec(temperature=0.6))
    for i, key in enumerate(config.policies):
        policy = next(p for p in run.policies_ if p.key == key)
        behaviour = fake.Behaviour(rate_P=np.full(40, 0.4), spread=0.3)
        run.add_arm("countdown", policy, 32, behaviour, 90 + i, spec=1)
    with pytest.raises(ConfigError, match="several sampling specs"):
        measure_run(run, config)
    keys = tuple(spec.key for spec in run.specs_)
    both = MeasureConfig(base=config.base, trained=config.trained, spec_keys=keys, draws=200)
    tables = measure_run(run, both)
    specs = {row.labels["spec"] for row in tables["differences"].rows}
    assert specs == {"T=1", "T=0.6", "T=1 against T=0.6", "T=0.6 against T=1"}
    assert {row.labels["spec"] for row in tables["transitions"].rows} == {"T=1", "T=0.6"}
    text = tables["verdict"].select(topic="temperature")[0].labels["text"]
    assert text.startswith(
        "Against base at T=1, coverage@16 of solutions of step 200 shows at T=0.6 "
    )
    own = tuple(zip(config.policies, keys, strict=True))
    mixed = MeasureConfig(base=config.base, trained=config.trained, policy_specs=own, draws=200)
    tables = measure_run(run, mixed)
    assert tables["differences"].rows[0].labels["spec"] == "T=1 against T=0.6"
    assert "different sampling specs are compared, as told" in tables["overview"].notes[0]


def test_counts_alone_give_what_counts_can_give(fake: ModuleType) -> None:
    run = fake.FakeRun()
    prompts = fake.instances(30, 3)
    run.tasks_["countdown"] = prompts
    keys = tuple(one.prompt.key for one in prompts)
    policies = [run.add_policy("before"), run.add_policy("after")]
    rng = np.random.default_rng(0)
    for policy in policies:
        n_P = rng.integers(50, 60, 30)
        c_P = rng.binomial(n_P, 0.3)
        counts = Counts(prompt_keys=keys, n_P=n_P, c_P=c_P)
        run.counts_["countdown", policy.key, UNKNOWN_SPEC] = counts
    tables = measure_run(run, MeasureConfig(base=policies[0].key, trained=(policies[1].key,)))
    first = run.counts_["countdown", policies[0].key, UNKNOWN_SPEC]
    found = simultaneous(tables["curves"], policy="before", metric="pass@k", k=1)
    assert found.value == pytest.approx(np.mean(first.c_P / first.n_P))
    assert not tables["curves"].select(metric="solutions@k")
    assert not tables["coverage"].rows
    assert not tables["shape"].rows
    assert {row.labels["spec"] for row in tables["transitions"].rows} == {"unknown sampling"}


def test_a_policy_without_any_success_still_has_coverage_zero(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(2)
    before, after = run.add_policy("before"), run.add_policy("after")
    run.give("hand", before, [fake.Given(p, 1, "a", "A") for p in (0, 1)] * 4)
    run.give("hand", after, [fake.Given(p, 0, "x") for p in (0, 1)] * 4)
    tables = measure_run(run, MeasureConfig(base=before.key, trained=(after.key,), group=2))
    found = simultaneous(
        tables["coverage"], policy="after", kind="solution", scope="all prompts", k=4
    )
    assert found.value == 0
    assert simultaneous(tables["curves"], policy="after", metric="solutions@k", k=4).value == 0


def test_graded_scores_and_an_explicit_threshold(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(1, totals=None)
    policy = run.add_policy("only")
    scores = [0.0, 0.2, 0.5, 1.0]
    rows = [fake.Given(0, int(s == 1.0), f"{s}", score=s) for s in scores]
    run.give("hand", policy, rows)
    tables = measure_run(run, MeasureConfig(base=policy.key, group=2))
    assert simultaneous(tables["curves"], metric="best@k", k=2).value == pytest.approx(0.7)
    assert simultaneous(tables["curves"], metric="best@k", k=3).value == pytest.approx(0.875)
    assert simultaneous(tables["curves"], metric="pass@k", k=1).value == pytest.approx(0.25)
    half = measure_run(run, MeasureConfig(base=policy.key, group=2, success_at=0.5))
    assert simultaneous(half["curves"], metric="pass@k", k=1).value == pytest.approx(0.5)


def test_truncation_is_shown_both_ways_and_a_changed_call_is_said(fake: ModuleType) -> None:
    run = fake.GivenRun()
    run.prompts_["hand"] = fake.hand_prompts(40)
    before, after = run.add_policy("before"), run.add_policy("after")
    half = [fake.Given(p, i % 2, "ab"[i % 2]) for p in range(40) for i in range(8)]
    cut = [fake.Given(p, 0, "c", finish=1) for p in range(40) for _ in range(6)]
    rest = [fake.Given(p, i % 2, "ab"[i % 2]) for p in range(40) for i in range(2)]
    run.give("hand", before, half)
    run.give("hand", after, cut + rest)
    tables = measure_run(run, MeasureConfig(base=before.key, trained=(after.key,), group=2))
    common = {"after": "after", "metric": "pass@k", "k": 1}
    table = tables["truncation"]
    assert table.one(truncated="as judged", **common).value == pytest.approx(-0.375)
    assert table.one(truncated="counted as wrong", **common).value == pytest.approx(-0.375)
    assert table.one(truncated="left out", **common).value == pytest.approx(0.0)
    assert table.one(policy="after", metric="truncation rate").value == 0.75


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"trained": ("nobody",)}, "unknown policy key 'nobody'"),
        ({"main_task": "countdwn"}, "Did you mean 'countdown'"),
        ({"spec_keys": ("warm",)}, "unknown spec key 'warm'"),
    ],
)
def test_unknown_names_are_refused(fake: ModuleType, broken: dict[str, Any], message: str) -> None:
    run, config = two_arms(fake)
    with pytest.raises(ConfigError, match=message):
        measure_run(run, MeasureConfig(**{"base": config.base, **broken}))


@pytest.mark.parametrize(
    "broken",
    [{"trained": ("b",)}, {"level": 1.0}, {"group": 1}, {"k_grid": (0, 1)}, {"success_at": 0.0}],
)
def test_configurations_that_cannot_be_meant(broken: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MeasureConfig(**{"base": "b", **broken})


def test_a_budget_grid_beyond_every_rollout_is_refused(fake: ModuleType) -> None:
    run, config = two_arms(fake)
    with pytest.raises(DataError, match="no budget of"):
        measure_run(run, MeasureConfig(base=config.base, k_grid=(64, 128)))
