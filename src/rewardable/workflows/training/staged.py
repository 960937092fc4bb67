"""Three rounds in place of one run: gentle, soft, watched (``THREE_ROUNDS``)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rewardable.errors import ConfigError
from rewardable.train import GRPORecipe
from rewardable.train.preserve import THREE_ROUNDS, Stage
from rewardable.workflows.audit import audit
from rewardable.workflows.events import OnEvent, ignore
from rewardable.workflows.sources import resolve_source
from rewardable.workflows.training.plan import check_names, train_plan
from rewardable.workflows.training.run import TrainResult, train

STAGED = "staged"
_DEFAULTS = {entry.name: entry.default for entry in fields(GRPORecipe)}


def rounds_of(raw: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return name and tables of each round. Numbers are scaled from the file's or the default.

    The share of supervised rows is set only where the file mixes some in; what it takes or gives
    is the rollouts' share.

    Raises
    ------
    ConfigError: the method is not GRPO or RLOO.

    >>> [(n, t["recipe"]["steps"]) for n, t in rounds_of({"recipe": {"steps": 100}})]
    [('gentle', 20), ('soft', 40), ('watched', 40)]
    """
    method = raw.get("method", "grpo")
    if method not in ("grpo", "rloo"):
        raise ConfigError(f"staged rounds are for grpo and rloo, got {method!r}.")
    plain = {key: value for key, value in raw.items() if key != STAGED}
    return [(stage.name, _applied(plain, stage)) for stage in THREE_ROUNDS]


def train_staged(
    path: Path,
    raw: Mapping[str, Any],
    on_event: OnEvent = ignore,
    *,
    policy: str = "",
    seed: int | None = None,
) -> TrainResult:
    """Train the rounds in ``path/1-gentle`` and so on, each from where the last one ended.

    The audit looks at the last checkpoint of every round.
    """
    whole = train_plan({k: v for k, v in raw.items() if k != STAGED}, policy=policy, seed=seed)
    check_names(whole)
    source, ends = whole.policy, list[Path]()
    plans = [
        (name, train_plan(tables, policy=source, seed=whole.seed))
        for name, tables in rounds_of(raw)
    ]
    for number, (name, plan) in enumerate(plans, start=1):
        one = replace(plan.onto(source), audit=None)
        result = train(path / f"{number}-{name}", one, on_event)
        ends.append(result.checkpoints[-1])
        source = str(ends[-1])
    audited = None
    if whole.audit is not None:
        policies = (resolve_source(whole.policy), *map(str, ends))
        audited = audit(path / "audit", whole.audit.run_config(policies, whole.task), on_event)
    return TrainResult(path=path, checkpoints=tuple(ends), audit=audited)


def _applied(raw: Mapping[str, Any], stage: Stage) -> dict[str, Any]:
    tables: dict[str, Any] = deepcopy(dict(raw))
    recipe = tables.setdefault("recipe", {})
    for name, factor in stage.scale.items():
        value = recipe.get(name, _DEFAULTS[name])
        recipe[name] = max(1, round(value * factor)) if isinstance(value, int) else value * factor
    if "train_prompts" in stage.scale:  # a step's prompts at least
        a_step = recipe.get("prompts_per_step", _DEFAULTS["prompts_per_step"])
        recipe["train_prompts"] = max(recipe["train_prompts"], a_step)
    for name, value in stage.set.items():
        if name == "sft":
            _mixed(tables, value)
        else:
            *tree, last = name.split(".")
            table = tables
            for part in tree:
                table = table.setdefault(part, {})
            table[last] = value
    return tables


def _mixed(tables: dict[str, Any], share: float) -> None:
    if "mix" in tables:
        replay = tables["mix"].get("replay", 0.15)
        tables["mix"] |= {"supervised": share, "rlvr": 1.0 - share - replay}
