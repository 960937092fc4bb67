"""What a recipe file says: one run, or stages in orders."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.protocols import Task
from rewardable.tasks import load_task
from rewardable.train import METHODS, RewardConfig, load
from rewardable.train.guarding import WatchConfig
from rewardable.train.preserve import TrainabilityBand
from rewardable.workflows.config import RunConfig
from rewardable.workflows.training.read import build

TAKEN = ("preserve", "mix", "sources", "filter", "guard", "reward", "teacher", "rollouts")
"""Tables that only some methods take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LogPlan:
    """What is kept of a run beside its checkpoints.

    rollouts: every training rollout with its verdict goes to ``rollouts/`` (not an i.i.d. sample
    of one policy). lenient: a task whose verifier judges the same completions more leniently; the
    share of disagreement is logged and the rows are kept.
    """

    rollouts: bool = True
    lenient: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditPlan:
    """How the checkpoints are looked at. task: empty means the trained one."""

    task: str = ""
    future_tasks: tuple[str, ...] = ()
    n: int = 64
    prompts: int = 64
    max_new_tokens: int = 256
    temperature: float = 1.0
    group: int = 8
    seed: int = 0
    refusal_screen: bool = False

    def run_config(self, policies: tuple[str, ...], trained_task: str) -> RunConfig:
        """Return the audit of these policies, the base first."""
        return RunConfig(
            policies=policies,
            task=self.task or trained_task,
            future_tasks=self.future_tasks,
            n=self.n,
            prompts=self.prompts,
            max_new_tokens=self.max_new_tokens,
            temperatures=(self.temperature,),
            group=self.group,
            seed=self.seed,
            refusal_screen=self.refusal_screen,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawPlan:
    """Graded rollouts to learn from. run: a run folder that holds them.

    Empty: the policy itself answers ``prompts`` training prompts ``n`` times first.
    """

    run: str = ""
    n: int = 16
    prompts: int = 256
    max_new_tokens: int = 256
    temperature: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FilterPlan:
    """Train only on prompts whose measured trainability lies in ``band``; ``n`` samples each."""

    n: int = 16
    band: TrainabilityBand = field(default_factory=TrainabilityBand)


@dataclass(frozen=True, kw_only=True, slots=True)
class SourcesPlan:
    """Where what is mixed in comes from.

    supervised: a task whose right answers are general rows, or a run folder whose right rollouts
    are; empty: the trained task. other_task: whose prompts the policy is held to a teacher on.
    count: prompts of either. per_prompt: right answers of each.
    """

    supervised: str = ""
    other_task: str = ""
    count: int = 512
    per_prompt: int = 4

    def task(self, trained: Task) -> Task:
        """Return the task of the general rows."""
        return load_task(self.supervised) if self.supervised else trained

    def other(self, trained: Task) -> Task:
        """Return the task of the prompts to distil on."""
        return load_task(self.other_task) if self.other_task else trained


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainPlan:
    """One training run.

    recipe: the method's own configuration. preserve, mix, filter: preservation methods, what is
    mixed in and from where, which prompts are kept; guard: who watches. For GRPO and RLOO.
    teacher: for distillation. rollouts: what SFT and DPO learn from.
    """

    method: str
    policy: str
    task: str
    seed: int
    recipe: Any
    preserve: Any = None
    mix: Any = None
    sources: SourcesPlan = field(default_factory=SourcesPlan)
    filter: FilterPlan | None = None
    guard: WatchConfig | None = None
    teacher: str = ""
    rollouts: DrawPlan | None = None
    logs: LogPlan = field(default_factory=LogPlan)
    audit: AuditPlan | None = None

    def onto(self, policy: str) -> TrainPlan:
        """Return the same run from another policy."""
        return replace(self, policy=policy)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tables:
    """The keys of a run in a recipe file."""

    task: str
    method: str = "grpo"
    policy: str = ""
    seed: int = 0
    teacher: str = ""
    rollouts: DrawPlan | None = None
    filter: FilterPlan | None = None
    guard: WatchConfig | None = None
    sources: SourcesPlan | None = None
    recipe: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reward: Mapping[str, Any] = field(default_factory=dict[str, Any])
    preserve: Mapping[str, Any] = field(default_factory=dict[str, Any])
    mix: Mapping[str, Any] | None = None
    logs: LogPlan = field(default_factory=LogPlan)
    audit: AuditPlan | None = None


def read_file(path: Path) -> dict[str, Any]:
    """Return the tables of a recipe file; DataError where there is none or it is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"there is no recipe file {path}.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{path} cannot be read as a recipe: {error}.") from error


def train_plan(raw: Mapping[str, Any], *, policy: str = "", seed: int | None = None) -> TrainPlan:
    """Read one run. policy, seed: override what the file says.

    Raises
    ------
    ConfigError: unknown keys, values of the wrong type, options that the method does not take.
    """
    tables = build(_Tables, raw, "the recipe file")
    if tables.method not in METHODS:
        raise unknown_name("method", tables.method, METHODS)
    method = METHODS[tables.method]
    chosen = policy or tables.policy
    if not chosen:
        raise ConfigError("no policy to train: give policy = ... in the file, or --policy.")
    _check_taken(tables)
    the_seed = tables.seed if seed is None else seed
    mix = None if tables.mix is None else build(load(method.mix), tables.mix, "[mix]")
    _check_sources(tables.sources, mix)
    plan = TrainPlan(
        method=tables.method,
        policy=chosen,
        task=tables.task,
        seed=the_seed,
        recipe=_recipe(tables, the_seed),
        preserve=_part(method.preserve, tables.preserve, "[preserve]"),
        mix=mix,
        sources=tables.sources or SourcesPlan(),
        filter=tables.filter,
        guard=tables.guard,
        teacher=tables.teacher,
        rollouts=tables.rollouts,
        logs=tables.logs,
        audit=tables.audit,
    )
    _check_one_kl(plan)
    return plan


def check_names(plan: TrainPlan) -> None:
    """Load every task that the run will ask for, so that a wrong name is said before it begins.

    Raises
    ------
    UserError: a task that is unknown, or options that it does not take.
    """
    names = [plan.task, plan.logs.lenient, plan.sources.other_task]
    if not Path(plan.sources.supervised).is_dir():
        names.append(plan.sources.supervised)
    if plan.audit is not None:
        names += [plan.audit.task, *plan.audit.future_tasks]
    if plan.guard is not None:
        names += plan.guard.future_tasks
    for name in dict.fromkeys(name for name in names if name):
        load_task(name)


def _check_taken(tables: _Tables) -> None:
    method = METHODS[tables.method]
    for name in TAKEN:
        value = getattr(tables, name)
        given = value is not None if name == "mix" else bool(value)
        if given and name not in method.takes:
            takers = ", ".join(sorted(m for m, one in METHODS.items() if name in one.takes))
            raise ConfigError(f"{tables.method} takes no {name}; these do: {takers}.")
    if "teacher" in method.takes and not tables.teacher:
        raise ConfigError(
            f"{tables.method} has no teacher: give teacher = ..., a policy with the same tokens. "
            "The policy itself would teach nothing."
        )


def _check_sources(sources: SourcesPlan | None, mix: Any) -> None:
    """Refuse sources of what is not mixed in."""
    if sources is None:
        return
    if mix is None:
        raise ConfigError("[sources] says what is mixed in, but there is no [mix].")
    if sources.supervised and not mix.supervised:
        raise ConfigError("[sources] supervised is given, but supervised has no share in [mix].")
    if sources.other_task and mix.distill is None:
        raise ConfigError("[sources] other_task is given, but there is no [mix.distill].")


def _check_one_kl(plan: TrainPlan) -> None:
    if plan.preserve is None or plan.preserve.adaptive_kl is None:
        return
    if plan.recipe.kl_coefficient or "beta" in plan.recipe.trl:
        raise ConfigError(
            "[preserve.adaptive_kl] sets the reference KL, and the recipe sets it too: give "
            "adaptive_kl.start in place of kl_coefficient."
        )


def _recipe(tables: _Tables, seed: int) -> Any:
    method = METHODS[tables.method]
    given: dict[str, Any] = {"seed": seed, **method.fixed}
    if "reward" in method.takes:
        given["reward"] = build(RewardConfig, tables.reward, "[reward]")
    return build(load(method.recipe), tables.recipe, "[recipe]", **given)


def _part(where: str, raw: Mapping[str, Any], name: str) -> Any:
    return build(load(where), raw, name) if raw else None
