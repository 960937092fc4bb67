"""The whole choice on fake policies whose truth is known; plans from a training run's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardable.engines.fake import FakePolicy
from rewardable.errors import ConfigError, DataError
from rewardable.report.choose import choose_figure
from rewardable.results import Table, table_from_json
from rewardable.workflows import audit as auditing
from rewardable.workflows import policies as opening
from rewardable.workflows.audit import AuditResult
from rewardable.workflows.choosing import ChoosePlan, Limits, ProbePlan, choose, plan_of
from rewardable.workflows.choosing import probes as probing
from rewardable.workflows.choosing.constraints import LEARNT
from rewardable.workflows.choosing.probes import END, FALL, START
from rewardable.workflows.choosing.run import chosen
from rewardable.workflows.sample import open_run

TARGET, LATER = "divisible", "divisible:by=3"
GIVEN: dict[str, Any] = {"task": TARGET, "future_tasks": (LATER,), "n": 16, "prompts": 48}


def saying(yes: float, other: float = 0.0) -> dict[str, float]:
    """Answers: the right one of each task is YES or NO by prompt; ``other`` is never right."""
    return {"YES": yes, "NO": 1 - yes - other, "maybe": other}


FAKES = {
    "base": saying(0.4, 0.2),
    "early": saying(0.3),
    "late": saying(0.0, 0.0),
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ChoosePlan, AuditResult]]:
    policies = {name: FakePolicy(name, {"*": table}) for name, table in FAKES.items()}
    plan = plan_of(list(FAKES), tmp_path_factory.mktemp("choose"), GIVEN, Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "open_engine", lambda source, options: policies[source])
        # the audit's own page is tested elsewhere and takes seconds to draw
        patch.setattr(auditing, "write_report", lambda run, tables: run.path / "report.html")
        kept = choose(plan)
        yield plan, kept.audit


def test_the_one_that_lost_support_does_not_come_first(
    audited: tuple[ChoosePlan, AuditResult],
) -> None:
    plan, audit = audited
    result = chosen(plan, audit)
    assert [one.policy for one in result.choice.ranked] == ["early", "late"]
    assert result.source == "early"
    late = result.choice.ranked[1]
    assert late.success > result.choice.ranked[0].success
    assert {c.name for c in late.judged("violated")} >= {"support@8", "trainability"}
    assert "late succeeds more often" in result.choice.reason
    table = table_from_json(result.table_path.read_text(encoding="utf-8"))
    assert table == result.table
    support = table.select(what="constraint", policy="late", metric="support@8")
    assert len({row.labels["task"] for row in support}) == 2
    assert all(row.estimate.low is not None for row in support)
    # a third of the later prompts lost their only answer
    later = min(row.estimate.value or 0.0 for row in support)
    assert later == pytest.approx(-1 / 3, abs=0.15)
    assert "<svg" in result.figure.read_text(encoding="utf-8")


def test_probes_are_compared_by_seed_and_kept(
    audited: tuple[ChoosePlan, AuditResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def prober(plan: ProbePlan) -> Any:
        def probe(source: str) -> list[dict[str, float]]:
            asked.append(source)
            higher = {"base": 0.0, "early": 0.05, "late": 0.5}[source]
            return [
                {"seed": s, "start": 2.0 + 2 * higher + 0.1 * s, "end": 1.0 + higher + 0.1 * s + e}
                for s, e in zip(range(5), (0.0, 0.01, -0.01, 0.02, 0.0), strict=True)
            ]

        return probe

    monkeypatch.setattr(probing, "_prober", prober)
    plan = replace(audited[0], path=tmp_path, probe=ProbePlan(task="words"))
    result = chosen(plan, audited[1])
    chosen(plan, audited[1])
    assert asked == ["base", "early", "late"]  # once each
    changes = {
        (row.labels["policy"], row.labels["metric"]): row.estimate
        for row in result.table.select(what="probe", of="change")
    }
    # it falls faster, from a higher start, and ends higher: no plasticity
    assert changes["late", FALL].value == pytest.approx(0.5)
    assert changes["late", START].value == pytest.approx(1.0)
    assert changes["late", END].value == pytest.approx(0.5)
    learnt = {
        one.policy: c for one in result.choice.ranked for c in one.constraints if c.name == LEARNT
    }
    assert learnt["late"].change.value == pytest.approx(-0.5)
    assert learnt["early"].change.value == pytest.approx(-0.05)


def training_run(path: Path, *, guard: bool = True) -> Path:
    """The files of a training run that a plan reads."""
    later = f'\n[guard]\nfuture_tasks = ["{LATER}"]\n' if guard else ""
    path.mkdir()
    text = f'method = "grpo"\npolicy = "base"\ntask = "{TARGET}"\nseed = 0\n{later}'
    (path / "recipe.toml").write_text(text, encoding="utf-8")
    for step in (20, 100, 40):
        (path / f"checkpoint-{step}").mkdir()
        (path / f"checkpoint-{step}" / "trainer_state.json").write_text("{}", encoding="utf-8")
    (path / "checkpoint-120").mkdir()
    return path


def test_a_training_run_gives_policies_tasks_and_places(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run")
    plan = plan_of([str(run)], None, {"n": 8}, Limits())
    assert plan.audit.policies == (
        "base", *(str(run / f"checkpoint-{step}") for step in (20, 40, 100)),
    )  # fmt: skip
    assert plan.audit.tasks == (TARGET, LATER)
    assert (plan.audit.n, plan.path, plan.audit_path) == (8, run / "choose", run / "choose/audit")
    named = plan_of([str(run)], None, {"task": LATER}, Limits())
    assert named.audit.tasks == (LATER,)


def test_an_audit_that_is_there_is_taken_up(tmp_path: Path) -> None:
    run = training_run(tmp_path / "run", guard=False)
    sources = ["base", *(str(run / f"checkpoint-{step}") for step in (20, 40, 100))]
    made = plan_of(sources, tmp_path / "made", {**GIVEN, "n": 8, "prompts": 4}, Limits())
    open_run(run / "audit", made.audit)
    plan = plan_of([str(run)], None, {}, Limits())
    assert (plan.audit, plan.audit_path) == (made.audit, run / "audit")
    other = plan_of([str(run)], None, {"n": 9}, Limits())
    assert (other.audit.n, other.audit.prompts) == (9, 4)
    assert other.audit_path == run / "choose" / "audit"
    (run / "checkpoint-120" / "trainer_state.json").write_text("{}", encoding="utf-8")
    later = plan_of([str(run)], None, {}, Limits())
    assert later.audit.policies == (*sources, str(run / "checkpoint-120"))
    assert later.audit_path == run / "choose" / "audit"


def test_what_cannot_be_meant_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no training run"):
        plan_of([str(tmp_path)], None, {}, Limits())
    with pytest.raises(ConfigError, match="no task"):
        plan_of(["base", "late"], tmp_path, {}, Limits())
    with pytest.raises(ConfigError, match="support must be at least 0"):
        Limits(support=-0.1)
    with pytest.raises(ConfigError, match="at least 3"):
        ProbePlan(task="words", seeds=2)
    with pytest.raises(ConfigError, match="is audited too"):
        plan_of(["base", "late"], tmp_path, GIVEN, Limits(), ProbePlan(task=TARGET))
    empty = training_run(tmp_path / "run")
    for found in empty.glob("*/trainer_state.json"):
        found.unlink()
    with pytest.raises(DataError, match="no finished checkpoint"):
        plan_of([str(empty)], None, {}, Limits())


def test_a_table_without_candidates_has_no_figure() -> None:
    with pytest.raises(DataError, match="no candidate"):
        choose_figure(Table(name="choose", title=""))


def test_kept_probes_of_other_settings_are_measured_anew(tmp_path: Path) -> None:
    asked: list[str] = []

    def measure(source: str) -> list[dict[str, float]]:
        asked.append(source)
        return [{"seed": 0, "start": 1.0, "end": 0.5}]

    for settings in ({"task": "a"}, {"task": "a"}, {"task": "b"}):
        probing._kept(tmp_path / "probes.json", settings, {"p": "p"}, measure, lambda _: None)
    assert asked == ["p", "p"]
    assert json.loads((tmp_path / "probes.json").read_text())["settings"] == {"task": "b"}
