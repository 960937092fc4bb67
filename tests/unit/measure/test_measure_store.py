"""A run folder gives the same tables as the arrays it was made from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from rewardable.measure import MeasureConfig, measure_run
from rewardable.records import Graded, Outcome
from rewardable.results import Table
from rewardable.store import Run


def test_a_run_folder_gives_the_tables_of_its_rollouts(fake: ModuleType, tmp_path: Path) -> None:
    known, policies = fake.narrowing_run(12, 16, future=False, ungraded=0.05)
    run = stored(known, policies, tmp_path / "run")
    config = MeasureConfig(
        base=policies[0].key, trained=(policies[2].key,), draws=200, max_examples=2
    )
    expected, found = measure_run(known, config), measure_run(run, config)
    for name in ("curves", "differences", "transitions", "trainability", "coverage", "truncation"):
        assert comparable(found[name]) == comparable(expected[name])
    assert found["examples"].examples == expected["examples"].examples
    for table in found.values():
        run.write_table(table)
    assert run.tables() == found


def stored(known: object, policies: list[object], path: Path) -> Run:
    run = Run.create(path, {"made": "by a test"})
    run.add_policies(known.policies())
    run.add_specs(known.specs())
    run.add_prompts(known.prompts())
    for policy in policies:
        pairs = list(known.rollouts(policy_key=policy.key, spec_key=known.specs()[0].key))
        run.add_rollouts([rollout for rollout, _ in pairs])
        run.add_verdicts([Graded(id=rollout.id, verdict=verdict) for rollout, verdict in pairs])
    return run


def comparable(table: Table) -> Table:
    return replace(table, provenance={})


def test_regrading_changes_the_tables_without_new_samples(fake: ModuleType, tmp_path: Path) -> None:
    known, policies = fake.narrowing_run(12, 16, future=False)
    run = stored(known, policies, tmp_path / "run")
    config = MeasureConfig(base=policies[0].key, draws=200)
    before = measure_run(run, config)["curves"].one(metric="pass@k", k=1, band="pointwise")
    spec = known.specs()[0].key
    run.add_verdicts([
        Graded(id=r.id, verdict=replace(v, outcome=Outcome.WRONG, version="2", labels={}))
        for r, v in known.rollouts(policy_key=policies[0].key, spec_key=spec)
    ])  # fmt: skip
    after = measure_run(run, config)["curves"].one(metric="pass@k", k=1, band="pointwise")
    assert before.value > 0
    assert after.value == 0
    assert after.high > 0
