"""The quick collapse test: distinct outputs of each policy, judged against the first one.

No absolute number means collapse: on a task with few possible answers the start itself is low.
So every call is about a paired difference to the base, or to the run's own start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rewardable.errors import ConfigError, DataError
from rewardable.measure.arms import Arm, Pair, restrict
from rewardable.measure.config import MeasureConfig
from rewardable.measure.counts import Floats
from rewardable.measure.diversity import DISTINCT, distinct_texts, made_P
from rewardable.measure.estimates import PerPrompt, difference_of, estimate_of, mean_of
from rewardable.measure.rows import FALL, RISE, certified, row
from rewardable.measure.stopped import only
from rewardable.measure.study import spec_keys
from rewardable.metrics import ratio_interval
from rewardable.results import Estimate, Label, Row, Table
from rewardable.store import Run, Samples

COLLAPSED, NARROWED, WIDENED, UNCHANGED = "collapsed", "narrowed", "widened", "no change shown"
KEPT = "share of the base's"
HALF = 0.5
"""A fall is called a collapse when all of the ratio's interval lies below this."""

NOTE = (
    "Intervals cover prompts and samples, not training seeds. A fall is judged against the first "
    "policy alone: collapsed means that the whole interval of the ratio of distinct outputs lies "
    "below one half, narrowed that the whole interval of the difference lies below zero."
)


def collapse_table(run: Run, config: MeasureConfig, *, k: int = 10) -> Table:
    """Count distinct outputs within k rollouts of a prompt; compare each policy with the base.

    Rollouts need not be graded. k is lowered to what every prompt has. Notes: a sentence a
    policy, then what was compared.

    Raises DataError where the policies share no prompt with two texts; ConfigError for k < 2.
    """
    if k < 2:
        raise ConfigError(f"distinct outputs are counted among at least 2 samples, got {k}.")
    arms, left_out = _arms(run, config)
    k = min(k, *(int(made_P(arm).min()) for arm in arms))
    base = arms[0]
    rows = [row(arm.labels, _mean(arm, k, config), metric=DISTINCT, k=k) for arm in arms]
    said = [_alone(base, rows[0].estimate, k)]
    for arm, mine in zip(arms[1:], rows[1 : len(arms)], strict=True):
        found, text = _judged(Pair(base, arm), (rows[0].estimate, mine.estimate), k, config)
        rows += found
        said.append(text)
    return Table(
        name="collapse",
        title="Distinct outputs",
        rows=tuple(rows),
        notes=(*said, *left_out, NOTE),
        provenance={"run": str(run.path), "measure": config.to_dict()},
    )


def _arms(run: Run, config: MeasureConfig) -> tuple[list[Arm], list[str]]:
    """Return the arms on the prompts of which each has two texts, and what that leaves out."""
    names = _names(run)
    keys = {key: found[0] for key, found in spec_keys(run, config).items()}
    called = {spec.key: f"T={spec.temperature:g}" for spec in run.specs()}
    arms = [
        Arm(
            task=config.main_task,
            policy=names[key],
            policy_key=key,
            spec=called.get(keys[key], "unknown sampling"),
            spec_key=keys[key],
            samples=_samples(run, config, key, keys[key]),
        )
        for key in config.policies
    ]
    usable = [_with_two(arm) for arm in arms]
    common = set[str].intersection(*usable)
    if not common:
        listing = "; ".join(f"{a.policy}: {len(u)}" for a, u in zip(arms, usable, strict=True))
        raise DataError(
            f"task {config.main_task}: no prompt has two outputs of every policy (prompts with "
            f"two: {listing}). Sample more, or compare fewer policies."
        )
    kept = [key for key in arms[0].samples.prompt_keys if key in common]
    everything = set[str]().union(*(arm.samples.prompt_keys for arm in arms))
    missing = len(everything) - len(kept)
    notes = [f"{missing} of {len(everything)} prompts lack two outputs of some policy and are "
             "left out."] if missing else []  # fmt: skip
    return [replace(arm, samples=restrict(arm.samples, kept)) for arm in arms], [
        *notes, *_templates(run, config),
    ]  # fmt: skip


def _templates(run: Run, config: MeasureConfig) -> list[str]:
    used = {policy.template for policy in run.policies() if policy.key in config.policies}
    return ["The policies answered under different prompt templates."] if len(used) > 1 else []


def _samples(run: Run, config: MeasureConfig, policy_key: str, spec_key: str) -> Samples:
    """Return the rollouts; of adaptive runs those of the first look, which were drawn anyhow."""
    found = run.samples(policy_key=policy_key, spec_key=spec_key, task=config.main_task)
    rule = config.stopping
    return only(found, found.index_R < rule.first) if rule else found


def _names(run: Run) -> dict[str, str]:
    policies = run.policies()
    held = [policy.name for policy in policies]
    return {p.key: p.name if held.count(p.name) == 1 else f"{p.name} {p.key[:6]}" for p in policies}


def _with_two(arm: Arm) -> set[str]:
    numbers = made_P(arm).tolist()
    return {key for key, n in zip(arm.samples.prompt_keys, numbers, strict=True) if n >= 2}


def _scaled(arm: Arm, k: int) -> PerPrompt:
    """Return distinct outputs as a share of what could be: 1 of k is 0, k of k is 1."""
    item = distinct_texts(arm, k)
    return replace(item, values_PK=np.clip((item.values_PK - 1) / (k - 1), 0.0, 1.0))


def _mean(arm: Arm, k: int, config: MeasureConfig) -> Estimate:
    return _back(mean_of(_scaled(arm, k), config), k, shift=1.0)


def _back(found: Estimate, k: int, shift: float = 0.0) -> Estimate:
    def outputs(value: float | None) -> float | None:
        return None if value is None else shift + (k - 1) * value

    return replace(
        found, value=outputs(found.value), low=outputs(found.low), high=outputs(found.high)
    )


def _judged(
    pair: Pair, means: Sequence[Estimate], k: int, config: MeasureConfig
) -> tuple[list[Row], str]:
    """Return the rows of a pair and the sentence about it."""
    before, after = (_scaled(arm, k) for arm in (pair.before, pair.after))
    change = _back(difference_of(before, after, config), k)
    ratio = _ratio(pair, k, config)
    call = _call(change, ratio)
    labels: dict[str, Label] = {"k": k, "call": call, "certified": certified(change)}
    rows = [
        row(pair.labels, change, metric=DISTINCT, **labels),
        row(pair.labels, ratio, metric=KEPT, **labels),
    ]
    return rows, _sentence(pair, means, change, ratio, call, k)


def _ratio(pair: Pair, k: int, config: MeasureConfig) -> Estimate:
    values: list[Floats] = [
        distinct_texts(arm, k).values_PK[:, 0] / k for arm in (pair.after, pair.before)
    ]
    found = ratio_interval(*values, level=config.level)
    arms = (pair.before, pair.after)
    size = sum(int(made_P(arm).sum()) for arm in arms)
    return replace(estimate_of(found, arms), n_graded=size, n_ungraded=0, warnings=found.warnings)


def _call(change: Estimate, ratio: Estimate) -> str:
    moved = certified(change)
    if moved == FALL:
        return COLLAPSED if ratio.high is not None and ratio.high < HALF else NARROWED
    return WIDENED if moved == RISE else UNCHANGED


def _alone(arm: Arm, found: Estimate, k: int) -> str:
    return (
        f"{arm.policy} gives {_ends(found)} distinct outputs in {k} "
        f"({found.n_prompts} prompts of {arm.task}, {arm.spec})."
    )


def _sentence(
    pair: Pair, means: Sequence[Estimate], change: Estimate, ratio: Estimate, call: str, k: int
) -> str:
    before, after = pair.before.policy, pair.after.policy
    tale = {
        COLLAPSED: f"{after} collapsed against {before}",
        NARROWED: f"{after} narrowed against {before} (a fall to below half is not shown)",
        WIDENED: f"{after} widened against {before}",
        UNCHANGED: f"{after} against {before}: no change shown",
    }[call]
    share = "" if call == UNCHANGED else f", {_percent(ratio)} of what it was"
    return (
        f"{tale}: {_ends(means[1])} distinct outputs in {k} where {before} has "
        f"{means[0].value:.2f}, a difference of {_ends(change, signed=True)}{share}."
    )


def _ends(found: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    if found.value is None:
        return "an unknown number of"
    if found.low is None or found.high is None:
        return f"{found.value:{sign}.2f} (no interval)"
    return f"{found.value:{sign}.2f} [{found.low:{sign}.2f}, {found.high:{sign}.2f}]"


def _percent(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "an unknown share"
    return f"{100 * found.value:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"
