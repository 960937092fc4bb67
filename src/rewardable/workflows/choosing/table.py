"""The table of a choice: targets, constraints and probes of every policy, and the ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rewardable.results import Estimate, Label, Row, Table
from rewardable.workflows.choosing.constraints import Tables, policies_of, target_of, tasks_of
from rewardable.workflows.choosing.probes import Probed
from rewardable.workflows.choosing.rank import Candidate, Choice

NAME = "choose"
TARGET, WORST = "target success", "worst margin"
NOTES = (
    "A checkpoint is compared with the base, prompt by prompt, seed by seed. A constraint holds "
    "when the whole interval of the change lies above its bound, is violated when the whole "
    "interval lies below, and open between; each interval stands alone, so that of many "
    "constraints a few are judged wrongly.",
    "First come checkpoints without a violated constraint, among these the ones whose estimates "
    "all lie within their bounds, among these the highest target success. The worst margin is the "
    "distance to the nearest bound in units of the tolerated fall: 1 is no change, 0 the bound.",
    "The chosen one's own figures are a little too good, since they were chosen by: audit it "
    "again with another seed before they are quoted. Intervals cover prompts and samples, not "
    "training seeds.",
)


def choose_table(
    tables: Tables, choice: Choice, probed: Sequence[Probed], provenance: Mapping[str, Any]
) -> Table:
    """Return rows of the ``target``, of ``constraint`` and ``margin`` and ``probe`` (``what``).

    Labels: ``policy``, ``metric``, ``task``; of candidates ``rank`` and ``pareto``; of constraints
    ``least`` and ``judgement``; of probes ``of`` level or change.
    """
    base, target = policies_of(tables)[0], tasks_of(tables)[0]
    common: dict[str, Label] = {"metric": TARGET, "task": target}
    rows = [
        _row("target", target_of(tables, base), policy=base, rank=0, pareto=False, **common),
    ]
    for rank, one in enumerate(choice.ranked, start=1):
        place: dict[str, Label] = {
            "policy": one.policy, "rank": rank, "pareto": one.policy in choice.pareto,
        }  # fmt: skip
        rows.append(_row("target", one.target, **common, **place))
        rows.append(_row("margin", _margin(one), metric=WORST, task=target, **place))
        rows += _constraints(one)
    return Table(
        name=NAME,
        title="Which checkpoint to continue from",
        rows=(*rows, *_probes(probed, str(provenance.get("probe", {}).get("task", "")))),
        notes=(choice.reason, *NOTES),
        provenance=provenance,
    )


def _row(what: str, estimate: Estimate, **labels: Label) -> Row:
    return Row(labels={"what": what, **labels}, estimate=estimate)


def _margin(one: Candidate) -> Estimate:
    return Estimate(value=one.worst, method="of the estimates, without an interval")


def _constraints(one: Candidate) -> list[Row]:
    return [
        _row("constraint", c.change, policy=one.policy, metric=c.name, task=c.task, least=c.least,
             judgement=c.judgement)
        for c in one.constraints
    ]  # fmt: skip


def _probes(probed: Sequence[Probed], task: str) -> list[Row]:
    return [
        _row("probe", estimate, policy=one.policy, metric=one.metric, task=task, of=of)
        for one in probed
        for of, estimate in (("level", one.level), ("change", one.change))
        if estimate is not None
    ]


def told(value: Any) -> dict[str, Any]:
    """Return a plan's part as plain values."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(value).items()}
