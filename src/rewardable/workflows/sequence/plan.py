"""What a file of stages says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from rewardable.errors import ConfigError, unknown_name
from rewardable.workflows.training import AuditPlan, TrainPlan, train_plan
from rewardable.workflows.training.read import build


@dataclass(frozen=True, kw_only=True, slots=True)
class StagePlan:
    """One stage. target: the held-out task, one of the audit's, whose success it is after."""

    name: str
    target: str
    train: TrainPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class SequencePlan:
    """Orders of stages from one base; equal beginnings are trained once.

    orders: name -> names of stages. audit: of the base and of every policy that a stage ends in,
    on all of the audit's tasks.
    """

    policy: str
    orders: Mapping[str, tuple[str, ...]]
    stages: Mapping[str, StagePlan]
    audit: AuditPlan

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Every sequence of stages that some order passes through, earlier ones first."""
        found = {
            tuple(order[: i + 1]): None for order in self.orders.values() for i in range(len(order))
        }
        return tuple(sorted(found, key=len))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tables:
    orders: Mapping[str, tuple[str, ...]]
    stages: Mapping[str, Mapping[str, Any]]
    audit: AuditPlan
    policy: str = ""
    seed: int = 0
    common: Mapping[str, Any] = field(default_factory=dict[str, Any])


def sequence_plan(
    raw: Mapping[str, Any], *, policy: str = "", seed: int | None = None
) -> SequencePlan:
    """Read orders, stages and the audit. ``[common]`` holds keys that all stages share.

    Raises
    ------
    ConfigError: unknown keys; an order that names no stage; a target that is not audited.
    """
    tables = build(_Tables, raw, "the sequence file")
    base = policy or tables.policy
    if not base:
        raise ConfigError("no policy to begin with: give policy = ... in the file, or --policy.")
    the_seed = tables.seed if seed is None else seed
    audited = (tables.audit.task, *tables.audit.future_tasks)
    stages = {
        name: _stage(name, merged(tables.common, stage), base, the_seed, audited)
        for name, stage in tables.stages.items()
    }
    _check_orders(tables.orders, stages)
    return SequencePlan(policy=base, orders=tables.orders, stages=stages, audit=tables.audit)


def merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``common`` with ``own`` over it, table by table.

    >>> merged({"recipe": {"steps": 5, "group_size": 8}}, {"recipe": {"steps": 9}})
    {'recipe': {'steps': 9, 'group_size': 8}}
    """
    found = dict(common)
    for key, value in own.items():
        below = found.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            found[key] = merged(cast(Mapping[str, Any], below), cast(Mapping[str, Any], value))
        else:
            found[key] = value
    return found


def _stage(
    name: str, raw: Mapping[str, Any], base: str, seed: int, audited: tuple[str, ...]
) -> StagePlan:
    own = dict(raw)
    target = own.pop("target", "")
    if not isinstance(target, str) or not target:
        raise ConfigError(f"stage {name!r} has no target: name the audited task that it is after.")
    if target not in audited:
        raise unknown_name(f"target of stage {name!r}:", target, audited)
    if "policy" in own or "audit" in own:
        raise ConfigError(f"stage {name!r}: policy and audit belong to the whole sequence.")
    return StagePlan(name=name, target=target, train=train_plan(own, policy=base, seed=seed))


def _check_orders(orders: Mapping[str, tuple[str, ...]], stages: Mapping[str, StagePlan]) -> None:
    if not orders:
        raise ConfigError("[orders] is empty: give at least one order of stages.")
    for order, names in orders.items():
        if not names:
            raise ConfigError(f"order {order!r} has no stages.")
        for name in names:
            if name not in stages:
                raise unknown_name(f"stage in order {order!r}:", name, stages)
