"""From a run folder to arms and pairs: who is compared with whom, on the prompts all share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from rewardable.errors import ConfigError, DataError, unknown_name
from rewardable.measure.arms import Arm, Pair, restrict, samples_from_counts
from rewardable.measure.clusters import clusters_of
from rewardable.measure.config import MeasureConfig, budgets, headline_budget
from rewardable.measure.estimates import PerPrompt
from rewardable.measure.marked import training_warnings
from rewardable.measure.stopped import design_text, refuse_threshold, stop
from rewardable.records import Policy, SamplingSpec
from rewardable.store import NOT_GRADED, UNKNOWN_SPEC, Run

MAIN, FUTURE, SCREEN = "main", "future", "screen"


@dataclass(frozen=True, kw_only=True)
class TaskStudy:
    """The arms of one task, all on the same prompts; ``warnings`` say what was left out.

    arms: the base first, then the trained policies in order, each at every spec.
    fixed_k: the headline budget of metrics that know no stopping rule, where there is one.
    memo: (metric, id of the arm) -> its curve over ``ks``, for pairs to use what arms computed.
    """

    task: str
    role: str
    arms: tuple[Arm, ...]
    warnings: tuple[str, ...]
    ks: tuple[int, ...]
    headline_k: int
    n_trained: int
    fixed_k: int = 0
    memo: dict[tuple[str, int], PerPrompt] = field(default_factory=dict, compare=False, repr=False)

    @property
    def common_k(self) -> int:
        """The headline budget that every metric reaches."""
        return self.fixed_k or self.headline_k

    @property
    def base_arms(self) -> tuple[Arm, ...]:
        """The base policy at every spec."""
        return self.arms[: len(self.arms) // (self.n_trained + 1)]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Base against each trained policy under the same position in the list of specs."""
        specs = len(self.base_arms)
        later = self.arms[specs:]
        return tuple(Pair(self.base_arms[i % specs], arm) for i, arm in enumerate(later))

    @property
    def headline_pairs(self) -> tuple[Pair, ...]:
        """Base against each trained policy under the first spec."""
        return self.pairs[:: len(self.base_arms)]

    @property
    def cross_pairs(self) -> tuple[Pair, ...]:
        """Base against each trained policy at different specs ("is it only sharpening?")."""
        same = {(pair.before.spec_key, pair.after.spec_key) for pair in self.pairs}
        later = self.arms[len(self.base_arms) :]
        found = (Pair(before, after) for after, before in product(later, self.base_arms))
        return tuple(p for p in found if (p.before.spec_key, p.after.spec_key) not in same)


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything that the tables are made from."""

    run: Run
    config: MeasureConfig
    tasks: tuple[TaskStudy, ...]
    screens: tuple[TaskStudy, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def provenance(self) -> dict[str, object]:
        """What every table records of its making."""
        return {"run": str(self.run.path), "measure": self.config.to_dict()}


def load_study(run: Run, config: MeasureConfig) -> Study:
    """Read the samples of every (task, policy, spec) and align them by prompt.

    Raises ConfigError for unknown policies, tasks or specs and for different templates that the
    configuration does not allow; DataError where no prompt is common to all.
    """
    policies = _policies(run, config)
    chosen = [policies[key] for key in config.policies]
    warnings = training_warnings(run, chosen) + _template_warnings(chosen, config)
    names = _names(chosen)
    specs = spec_keys(run, config)
    warnings += _spec_warnings(specs, names, _spec_names(run))
    tasks = _tasks(run, config)
    roles = [MAIN] + [FUTURE] * (len(tasks) - 1)
    found = tuple(
        _load_task(run, config, names, specs, task, role)
        for task, role in zip(tasks, roles, strict=True)
    )
    plain, first = replace(config, stopping=None), {key: keys[:1] for key, keys in specs.items()}
    screens = tuple(_load_task(run, plain, names, first, task, SCREEN) for task in config.screens)
    return Study(run=run, config=config, tasks=found, screens=screens, warnings=warnings)


def _policies(run: Run, config: MeasureConfig) -> dict[str, Policy]:
    known = {policy.key: policy for policy in run.policies()}
    for key in config.policies:
        if key not in known:
            listing = ", ".join(f"{p.name} ({p.key})" for p in known.values())
            raise unknown_name("policy key", key, known, hint=f"The run holds: {listing}.")
    return known


def _template_warnings(policies: Sequence[Policy], config: MeasureConfig) -> tuple[str, ...]:
    if len({policy.template for policy in policies}) == 1:
        return ()
    listing = ", ".join(f"{policy.name}: {policy.template[:12]}" for policy in policies)
    if not config.compare_templates:
        raise ConfigError(
            f"the policies have different prompt templates ({listing}); a difference could be the "
            "template's. Sample them under one template, or allow it with compare_templates."
        )
    return (f"Policies under different prompt templates are compared, as told ({listing}).",)


def _spec_warnings(
    specs: Mapping[str, tuple[str, ...]], names: Mapping[str, str], called: Mapping[str, str]
) -> tuple[str, ...]:
    if len(set(specs.values())) == 1:
        return ()
    listing = "; ".join(f"{names[key]}: {called[found[0]]}" for key, found in specs.items())
    return (f"Policies under different sampling specs are compared, as told ({listing}).",)


def _names(policies: Sequence[Policy]) -> dict[str, str]:
    counts = {policy.name: 0 for policy in policies}
    for policy in policies:
        counts[policy.name] += 1
    return {p.key: p.name if counts[p.name] == 1 else f"{p.name} {p.key[:6]}" for p in policies}


def _tasks(run: Run, config: MeasureConfig) -> tuple[str, ...]:
    known = sorted({prompt.task for prompt in run.prompts()})
    main = config.main_task
    if not main:
        rest = [task for task in known if task not in config.future_tasks]
        if len(rest) != 1:
            raise ConfigError(f"main_task must name one of the run's tasks: {', '.join(rest)}.")
        main = rest[0]
    for task in (main, *config.future_tasks):
        if task not in known:
            raise unknown_name("task", task, known)
    return (main, *config.future_tasks)


def spec_keys(run: Run, config: MeasureConfig) -> dict[str, tuple[str, ...]]:
    """Return the specs of each compared policy; ConfigError when they are ambiguous."""
    groups = run.groups()
    held = {key: {g.spec_key for g in groups if g.policy_key == key} for key in config.policies}
    known = set[str]().union(*held.values())
    told = config.spec_keys or (tuple(known) if len(known) == 1 else ())
    own = dict(config.policy_specs)
    missing = [key for key in config.policies if key not in own]
    if missing and not told:
        listing = "; ".join(f"{key}: {', '.join(sorted(held[key])) or 'none'}" for key in held)
        raise ConfigError(
            "the policies have rollouts under several sampling specs; name those to compare in "
            f"spec_keys, or one for each policy in policy_specs. Found: {listing}."
        )
    for key in (*told, *own.values()):
        if key not in known:
            raise unknown_name("spec key", key, known)
    width = len(told) if missing else 1
    return {key: (own[key],) * width if key in own else told for key in config.policies}


def spec_name(spec: SamplingSpec) -> str:
    """Return the spec for people: temperature, and whatever is not the default.

    >>> spec_name(SamplingSpec(temperature=0.6, top_p=0.9))
    'T=0.6, top-p 0.9'
    """
    parts = [f"T={spec.temperature:g}" if spec.temperature else "greedy"]
    parts += [f"top-p {spec.top_p:g}"] if spec.top_p < 1 else []
    parts += [f"top-k {spec.top_k}"] if spec.top_k else []
    return ", ".join(parts)


def _spec_names(run: Run) -> dict[str, str]:
    names = {spec.key: spec_name(spec) for spec in run.specs()}
    names[UNKNOWN_SPEC] = "unknown sampling"
    shared = [name for name in names.values() if list(names.values()).count(name) > 1]
    return {key: f"{name} ({key[:6]})" if name in shared else name for key, name in names.items()}


def _load_task(
    run: Run,
    config: MeasureConfig,
    names: Mapping[str, str],
    specs: Mapping[str, tuple[str, ...]],
    task: str,
    role: str,
) -> TaskStudy:
    spec_names = _spec_names(run)
    arms = [
        _load_arm(run, config, task, (policy_key, names[policy_key]), (key, spec_names[key]))
        for policy_key, keys in specs.items()
        for key in keys
    ]
    aligned, warnings = align(arms)
    keys = aligned[0].samples.prompt_keys
    cluster_P, told = clusters_of(task, run.prompts(task), keys, config.cluster)
    aligned = tuple(replace(arm, cluster_P=cluster_P) for arm in aligned)
    n = max(int(arm.counts.n_P.max()) for arm in aligned)
    least = min(int(arm.counts.n_P.min()) for arm in aligned)
    rule = config.stopping
    if rule is not None:
        n, least = rule.widest, rule.first
    ks = _budgets(n, config)
    if not ks or ks[0] > least:
        raise DataError(
            f"task {task}: no budget of {config.k_grid} is within the {least} graded rollouts of "
            "the prompt that has the fewest; name a smaller one."
        )
    fixed = headline_budget(tuple(k for k in ks if k <= least), least, config.headline_k)
    headline = fixed if rule is None else headline_budget(ks, rule.cap, config.headline_k)
    return TaskStudy(
        task=task,
        role=role,
        arms=aligned,
        warnings=(*warnings, *_design(task, aligned, n, least), *told),
        ks=ks,
        headline_k=headline,
        n_trained=len(config.trained),
        fixed_k=0 if rule is None else max(k for k in ks if k <= least),
    )


def _budgets(n: int, config: MeasureConfig) -> tuple[int, ...]:
    """Return the budgets to report; under a stopping rule its first look is one."""
    ks = budgets(n, config.k_grid)
    if config.stopping is None or config.k_grid:
        return ks
    return tuple(sorted({*ks, config.stopping.first}))


def _design(task: str, arms: Sequence[Arm], n: int, least: int) -> tuple[str, ...]:
    """Say how many rollouts the prompts have, where that is not one number."""
    stopped = [arm.stopped for arm in arms if arm.stopped is not None]
    return (design_text(task, stopped),) if stopped else _short(task, n, least)


def _load_arm(
    run: Run, config: MeasureConfig, task: str, policy: tuple[str, str], spec: tuple[str, str]
) -> Arm:
    where = {"policy_key": policy[0], "spec_key": spec[0], "task": task}
    samples = run.samples(**where)
    counts_only = not len(samples.prompt_R)
    if counts_only:
        samples = samples_from_counts(run.counts(**where))
    stopped = None
    if config.stopping is not None:
        refuse_threshold(config.success_at)
        at = f"task {task}, {policy[1]} at {spec[1]}"
        samples, stopped = stop(samples, config.stopping, at)
    return Arm(
        task=task,
        policy=policy[1],
        policy_key=policy[0],
        spec=spec[1],
        spec_key=spec[0],
        samples=samples,
        success_at=None if counts_only else config.success_at,
        counts_only=counts_only,
        stopped=stopped,
    )


def _short(task: str, n: int, least: int) -> tuple[str, ...]:
    if least == n:
        return ()
    return (
        f"Task {task}: prompts have between {least} and {n} graded rollouts. A policy has no value "
        "at a budget that one of its prompts does not reach: an average over fewer prompts would "
        "hide the gap.",
    )


def align(arms: Sequence[Arm]) -> tuple[tuple[Arm, ...], tuple[str, ...]]:
    """Restrict the arms to the prompts that each of them has graded; say what was left out.

    Prompts of which every arm has rollouts, but some arm no graded one, stay as ``aside``.

    Raises DataError, with every arm's number of prompts, when no prompt remains.
    """
    graded = [_graded_keys(arm) for arm in arms]
    common = set[str].intersection(*graded)
    if not common:
        listing = "; ".join(
            f"{arm.policy} at {arm.spec}: {arm.n_prompts} prompts, {len(keys)} with graded rollouts"
            for arm, keys in zip(arms, graded, strict=True)
        )
        raise DataError(
            f"task {arms[0].task}: no prompt is graded for every policy ({listing}).{_hint(arms)}"
        )
    keys = [key for key in arms[0].samples.prompt_keys if key in common]
    aside = sorted(set[str].intersection(*map(_sampled_keys, arms)) - common)
    aligned = tuple(_aligned(arm, keys, aside) for arm in arms)
    return aligned, _left_out(arms, len(keys), len(aside))


def _hint(arms: Sequence[Arm]) -> str:
    never = any(NOT_GRADED in arm.samples.reasons for arm in arms)
    return " Some rollouts were never graded: run rewardable grade." if never else ""


def _aligned(arm: Arm, keys: Sequence[str], aside: Sequence[str]) -> Arm:
    place = {key: position for position, key in enumerate(arm.samples.prompt_keys)}
    kept = restrict(arm.samples, keys)
    return replace(
        arm,
        samples=kept,
        stopped=arm.stopped and arm.stopped.at([place[key] for key in keys]),
        aside=arm.counts.at([place[key] for key in aside]),
        n_outside=len(arm.samples.prompt_R) - len(kept.prompt_R),
        n_outside_ungraded=arm.n_ungraded - int(arm.counts.at([place[k] for k in keys]).u_P.sum()),
    )


def _sampled_keys(arm: Arm) -> set[str]:
    n_P = arm.rollouts_P.tolist()
    return {key for key, n in zip(arm.samples.prompt_keys, n_P, strict=True) if n > 0}


def _graded_keys(arm: Arm) -> set[str]:
    n_P = arm.counts.n_P
    return {key for key, n in zip(arm.samples.prompt_keys, n_P.tolist(), strict=True) if n > 0}


LEFT_OUT = "are left out"
"""Marks the warning that some prompts are not compared; the verdict repeats it."""


def _left_out(arms: Sequence[Arm], kept: int, aside: int) -> tuple[str, ...]:
    everything = set[str]().union(*(arm.samples.prompt_keys for arm in arms))
    if len(everything) == kept:
        return ()
    listing = ", ".join(f"{arm.policy} at {arm.spec} has {arm.n_prompts}" for arm in arms)
    return (
        f"Task {arms[0].task}: {kept} of {len(everything)} prompts have graded rollouts of every "
        f"policy and are compared; the other {len(everything) - kept} {LEFT_OUT} ({listing})."
        + (
            f" {aside} of those left out have rollouts of every policy, but of some policy none "
            "that is graded; the bounds of pass@k and support@k include them."
            if aside
            else ""
        ),
    )
