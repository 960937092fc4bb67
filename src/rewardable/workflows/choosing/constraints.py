"""From an audit's tables, and from probes, to candidates with their constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rewardable.results import Estimate, Table
from rewardable.workflows.choosing.plan import Limits
from rewardable.workflows.choosing.rank import Candidate, Constraint
from rewardable.workflows.screen import SCREEN

SUPPORT, TRAINABILITY, HELD_OUT = "support@{}", "trainability", "pass@1"
REFUSAL, LEARNT = "balanced accuracy", "loss after learning, base minus checkpoint"
_BAND = "simultaneous"

Tables = Mapping[str, Table]


def policies_of(tables: Tables) -> list[str]:
    """Return the names of the policies, the base first."""
    found = tables["overview"].rows
    return list(dict.fromkeys(str(row.labels["policy"]) for row in found))


def tasks_of(tables: Tables) -> list[str]:
    """Return the audited tasks, the target first; screens are none."""
    found = tables["overview"].rows
    tasks = dict.fromkeys(
        str(row.labels["task"]) for row in found if row.labels["role"] != "screen"
    )
    return list(tasks)


def target_of(tables: Tables, policy: str) -> Estimate:
    """Return pass@1 of a policy on the target."""
    task = tasks_of(tables)[0]
    return _first(tables["curves"], policy=policy, task=task, metric="pass@k", k=1, band=_BAND)


def candidates_of(
    tables: Tables, limits: Limits, probed: Mapping[str, tuple[str, Estimate]]
) -> list[Candidate]:
    """Return every checkpoint as a candidate.

    probed: checkpoint -> the probe's task, and the loss at the end, base minus checkpoint.
    """
    found: list[Candidate] = []
    for policy in policies_of(tables)[1:]:
        constraints = [*_audited(tables, policy, limits)]
        if policy in probed:
            task, change = probed[policy]
            constraints.append(_constraint(LEARNT, task, change, limits.plasticity))
        target = target_of(tables, policy)
        found.append(Candidate(policy=policy, target=target, constraints=tuple(constraints)))
    return found


def _audited(tables: Tables, policy: str, limits: Limits) -> Iterator[Constraint]:
    differences, varied = tables["differences"], tables["trainability"]
    target, *later = tasks_of(tables)
    for task in (target, *later):
        k = _headline(tables, task)
        # as a share of the prompts, support@k is the mean of pass@k
        fall = _first(differences, after=policy, task=task, metric="pass@k", k=k, band=_BAND)
        yield _constraint(SUPPORT.format(k), task, fall, limits.support)
    for task in later:
        fall = _first(varied, after=policy, task=task, metric="trainability")
        yield _constraint(TRAINABILITY, task, fall, limits.trainability)
        fall = _first(differences, after=policy, task=task, metric="pass@k", k=1, band=_BAND)
        yield _constraint(HELD_OUT, task, fall, limits.held_out)
    screened = tables["classes"].select(task=SCREEN, metric=REFUSAL, after=policy)
    for row in screened[:1]:
        yield _constraint(REFUSAL, SCREEN, row.estimate, limits.refusal)


def _constraint(name: str, task: str, change: Estimate, tolerated: float) -> Constraint:
    return Constraint(name=name, task=task, change=change, least=-tolerated)


def _headline(tables: Tables, task: str) -> int:
    return int(_first(tables["overview"], task=task, metric="headline budget").value or 1)


def _first(table: Table, **labels: str | int) -> Estimate:
    """Return the first: of the first sampling spec, compared under the same one."""
    rows = table.select(**labels)
    return rows[0].estimate if rows else Estimate(value=None, warnings=("not measured",))
