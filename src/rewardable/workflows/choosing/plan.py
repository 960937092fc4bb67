"""What a choice is told: which policies, what was or will be audited, what may fall by how much."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError
from rewardable.store import Run
from rewardable.train.series import checkpoints
from rewardable.workflows.config import RunConfig, config_from_dict
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training import AuditPlan

RECIPE, AUDIT, CHOICE = "recipe.toml", "audit", "choose"
_FALLS = ("support", "trainability", "held_out", "refusal", "plasticity")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Falls against the base that are still tolerated.

    support: of support@k, as a share of the prompts, on every task. trainability: of the share of
    groups with reward variation, held_out: of pass@1, both on every later task. refusal: of the
    balanced accuracy on the refusal screen. plasticity: rise of the loss at the end of a probe, in
    nats a token.
    """

    support: float = 0.1
    trainability: float = 0.1
    held_out: float = 0.1
    refusal: float = 0.1
    plasticity: float = 0.1

    def __post_init__(self) -> None:
        """Refuse negative falls with a ConfigError."""
        for name in _FALLS:
            if not getattr(self, name) >= 0.0:
                raise ConfigError(f"{name} must be at least 0, got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbePlan:
    """How plasticity is probed. task: new to all policies, and one that writes right answers.

    seeds, steps, batch, held_out, learning_rate, lora: as in
    :class:`~rewardable.train.plasticity.PlasticityRecipe`; lora is an adapter's rank, 0 trains all
    weights. reward_steps: of a run of GRPO on the same task whose gain is shown, repeated
    ``reward_seeds`` times; 0: none. max_new_tokens: of that run.
    """

    task: str
    seeds: int = 5
    steps: int = 10
    batch: int = 16
    held_out: int = 64
    learning_rate: float = 1e-4
    lora: int = 0
    reward_steps: int = 0
    reward_seeds: int = 3
    max_new_tokens: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be meant with a ConfigError."""
        for name in ("seeds", "reward_seeds"):
            if getattr(self, name) < 3:
                raise ConfigError(
                    f"{name} must be at least 3 for an interval, got {getattr(self, name)}."
                )
        if self.reward_steps and self.reward_steps < 10:
            raise ConfigError(f"reward_steps must be 0, or 10 and more; got {self.reward_steps}.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoosePlan:
    """A choice among ``audit.policies``: the base first, then checkpoints in order of training.

    path: where the choice is written. audit_path: the run folder of the audit.
    """

    path: Path
    audit_path: Path
    audit: RunConfig
    limits: Limits
    probe: ProbePlan | None = None

    def __post_init__(self) -> None:
        """Refuse what leaves nothing to choose from, with a ConfigError."""
        if len(self.audit.policies) < 2:
            raise ConfigError("nothing to choose from: name the base and at least one checkpoint.")
        tasks = {name.partition(":")[0] for name in self.audit.tasks}
        if self.probe is not None and self.probe.task in (*self.audit.tasks, *tasks):
            raise ConfigError(
                f"the probe's task {self.probe.task!r} is audited too: a probe needs a task that "
                "is new, name another --plasticity-task."
            )


def plan_of(
    sources: list[str],
    out: Path | None,
    given: Mapping[str, Any],
    limits: Limits,
    probe: ProbePlan | None = None,
) -> ChoosePlan:
    """Return the plan for a training run's folder, or for a base and its checkpoints.

    given: fields of :class:`~rewardable.workflows.training.AuditPlan` that the user named. An
    audit that the training run holds, of all its checkpoints, is taken up unless some are named.

    Raises
    ------
    ConfigError: no task, or nothing to choose from.
    DataError: a folder that is no training run, or one without checkpoints.
    """
    run = Path(sources[0])
    if len(sources) == 1:
        path, audit_path, audit = _of_run(run, out or run / CHOICE, given)
    else:
        path = out or Path("runs") / CHOICE
        policies = tuple(resolve_source(source) for source in sources)
        audit_path, audit = path / AUDIT, _config(policies, given, "")
    return ChoosePlan(path=path, audit_path=audit_path, audit=audit, limits=limits, probe=probe)


def _of_run(run: Path, out: Path, given: Mapping[str, Any]) -> tuple[Path, Path, RunConfig]:
    if not (run / RECIPE).is_file():
        raise DataError(
            f"{run} is no training run (it has no {RECIPE}); name the base and its checkpoints, "
            "or the folder that 'rewardable train' wrote."
        )
    found = [str(path) for path in checkpoints(run)]
    if not found:
        raise DataError(f"{run} holds no finished checkpoint.")
    held = _held_audit(run / AUDIT)
    if held is not None and not given and _names(held.policies[1:]) == _names(found):
        return out, run / AUDIT, held
    recipe = tomllib.loads((run / RECIPE).read_text(encoding="utf-8"))
    policies = (resolve_source(str(recipe["policy"])), *found)
    if held is not None:
        return out, out / AUDIT, _changed(held, policies, given)
    guard: Mapping[str, Any] = recipe.get("guard", {})
    later = tuple(t for t in guard.get("future_tasks", ()) if t != given.get("task"))
    return out, out / AUDIT, _config(policies, {"future_tasks": later, **given}, recipe["task"])


def _held_audit(path: Path) -> RunConfig | None:
    if not (path / "config.toml").is_file():
        return None
    return config_from_dict(Run.open(path).config)


def _names(policies: tuple[str, ...] | list[str]) -> list[str]:
    return [Path(policy).name for policy in policies]


def _changed(held: RunConfig, policies: tuple[str, ...], given: Mapping[str, Any]) -> RunConfig:
    changes = dict(given)
    if "temperature" in changes:
        changes["temperatures"] = (changes.pop("temperature"),)
    return replace(held, policies=policies, **changes)


def _config(policies: tuple[str, ...], given: Mapping[str, Any], trained: str) -> RunConfig:
    known = {entry.name for entry in fields(AuditPlan)}
    asked = AuditPlan(**{name: value for name, value in given.items() if name in known})
    if not (asked.task or trained):
        raise ConfigError("no task: name the one whose success is wanted with --task.")
    return asked.run_config(policies, trained)
