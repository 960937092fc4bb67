"""Measure a graded run and write its tables and report; neither samples nor grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.measure import FAILED, MeasureConfig, measure_run, parse_gate
from rewardable.records import Policy
from rewardable.report import render_report
from rewardable.results import Table
from rewardable.store import Group, Run
from rewardable.tasks import load_task
from rewardable.workflows.config import IMPORTED, RunConfig, config_from_dict
from rewardable.workflows.grade import n_ungraded_yet
from rewardable.workflows.screen import screens_of


def measure(
    run: Run,
    *,
    success_at: float | None = None,
    base: str = "",
    task: str = "",
    cluster: str = "",
    batch: int = 0,
    fail_on: Sequence[str] = (),
) -> dict[str, Table]:
    """Measure the run, save its tables in the run folder and return them by name.

    success_at: a rollout succeeds when its score is at least this; None: the verifier decides.
    base, task: of an imported run, the name of the policy that the others are compared with and
    of the trained task; empty takes the first imported.
    cluster: the fact of a prompt that names its source problem. batch: groups in a training batch;
    0 takes the usual one. fail_on: gates; their outcomes are in the table ``gates``.

    Raises
    ------
    DataError: the run has no graded rollouts or lacks a policy of its configuration.
    """
    config = config_of(run, success_at, base, task)
    if IMPORTED not in run.config:
        _require_graded(run)
    config = replace(config, cluster=cluster, batch=batch or config.batch, fail_on=tuple(fail_on))
    for text in config.fail_on:
        parse_gate(text)
    config, left_out = _with_grades(run, config)
    tables = measure_run(run, config)
    if left_out:
        verdict = tables["verdict"]
        tables["verdict"] = replace(verdict, notes=(*verdict.notes, *left_out))
    for table in tables.values():
        run.write_table(table)
    return tables


def config_of(
    run: Run, success_at: float | None = None, base: str = "", task: str = ""
) -> MeasureConfig:
    """Return who is compared with whom in a run, sampled or imported."""
    if IMPORTED in run.config:
        return _imported_config(run, success_at, base, task)
    _refuse_for_sampled(base, task)
    return _sampled_config(run, config_from_dict(run.config), success_at)


def failed_gates(tables: Mapping[str, Table]) -> bool:
    """Return whether some gate failed: its whole interval lies beyond its threshold."""
    return "gates" in tables and bool(tables["gates"].select(outcome=FAILED))


def write_report(run: Run, tables: Mapping[str, Table] | None = None, title: str = "") -> Path:
    """Draw the report from the tables (by default those that the run holds)."""
    found = dict(tables) if tables is not None else run.tables()
    if not found:
        raise DataError(f"{run.path} has no tables yet; run: rewardable measure {run.path}")
    path = run.path / "report.html"
    render_report(found, path, title=title or f"Rewardable support: {run.path.name}")
    return path


def _refuse_for_sampled(base: str, task: str) -> None:
    if base or task:
        raise ConfigError(
            "base and task are chosen for imported runs only; a sampled run has its own."
        )


def _require_graded(run: Run) -> None:
    missing = n_ungraded_yet(run)
    if missing:
        raise DataError(
            f"{missing:,} rollouts of {run.path} are not graded yet; "
            f"run: rewardable grade {run.path}"
        )


def _with_grades(run: Run, config: MeasureConfig) -> tuple[MeasureConfig, list[str]]:
    """Leave out future tasks and screens of which some policy has no graded rollout, saying so."""
    held = {
        (group.task, group.policy_key) for group in run.groups() if _has_grade(run, group, config)
    }
    told = (*config.future_tasks, *config.screens)
    kept = [task for task in told if all((task, policy) in held for policy in config.policies)]
    notes = [
        f"{task} is left out: a policy has no graded rollout of it."
        for task in told
        if task not in kept
    ]
    future = tuple(task for task in config.future_tasks if task in kept)
    screens = tuple(task for task in config.screens if task in kept)
    return replace(config, future_tasks=future, screens=screens), notes


def _has_grade(run: Run, group: Group, config: MeasureConfig) -> bool:
    if group.task not in (*config.future_tasks, *config.screens):
        return False
    if group.n_counts:
        return True
    samples = run.samples(task=group.task, policy_key=group.policy_key, spec_key=group.spec_key)
    return bool(samples.n_P.sum())


def _sampled_config(run: Run, config: RunConfig, success_at: float | None) -> MeasureConfig:
    policies = _in_order(run.policies(), config)
    names = [load_task(spec).name for spec in config.tasks]
    return MeasureConfig(
        base=policies[0].key,
        trained=tuple(policy.key for policy in policies[1:]),
        main_task=names[0],
        future_tasks=tuple(names[1:]),
        screens=screens_of(run, config),
        spec_keys=tuple(spec.key for spec in config.specs),
        compare_templates=config.own_templates,
        group=config.group,
        seed=config.seed,
        success_at=success_at,
        stopping=config.stopping,
    )


def _in_order(policies: list[Policy], config: RunConfig) -> list[Policy]:
    by_source = {policy.source: policy for policy in policies}
    missing = [source for source in config.policies if source not in by_source]
    if missing:
        raise DataError(
            f"the run has no rollouts of {', '.join(missing)} yet; sample again to go on."
        )
    return [by_source[source] for source in config.policies]


def _imported_config(run: Run, success_at: float | None, base: str, task: str) -> MeasureConfig:
    policies = {policy.name: policy.key for policy in run.policies()}
    tasks = list(dict.fromkeys(prompt.task for prompt in run.prompts()))
    if not policies or not tasks:
        raise DataError(f"{run.path} is empty; import a dump into it first.")
    first = _chosen("policy", base, list(policies))
    main = _chosen("task", task, tasks)
    return MeasureConfig(
        base=policies[first],
        trained=tuple(key for name, key in policies.items() if name != first),
        main_task=main,
        future_tasks=tuple(name for name in tasks if name != main),
        future_note="another task",
        compare_templates=True,
        success_at=success_at,
    )


def _chosen(kind: str, name: str, known: list[str]) -> str:
    if name and name not in known:
        raise unknown_name(kind, name, known)
    return name or known[0]
