"""The proof: choice, uniform merge and trained checkpoint on prompts that were not searched on."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.metrics import Interval, ratio_interval
from rewardable.protocols import Task
from rewardable.records import Prompt, digest
from rewardable.restore import merge
from rewardable.store import Run
from rewardable.tasks import load_task
from rewardable.workflows.audit import AuditResult, audit
from rewardable.workflows.config import RunConfig
from rewardable.workflows.events import OnEvent
from rewardable.workflows.restoring.candidates import Candidate
from rewardable.workflows.restoring.config import RestoreConfig
from rewardable.workflows.restoring.drawing import TRAINED, weights
from rewardable.workflows.restoring.halving import Standing
from rewardable.workflows.restoring.scores import (
    Scores,
    Values,
    Where,
    read_scores,
    read_trainability,
    shared,
    standing_of,
)
from rewardable.workflows.restoring.splits import CONFIRMATION

RESTORED, UNIFORM_AT = "restored", "weights/uniform"
PROVENANCE = "provenance.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What the confirmation prompts say. Names: trained, the choice, the uniform merge.

    ratios: the objective over the trained checkpoint's.
    """

    audit: AuditResult
    scores: Mapping[str, Scores]
    standings: Mapping[str, Standing]
    ratios: Mapping[str, Interval]
    future: Mapping[str, Mapping[str, Values]]


def write_choice(path: Path, choice: Candidate) -> str:
    """Write the chosen merge to ``path/restored``; return the source to sample it by."""
    at = path / RESTORED
    if choice.recipe is None:
        return choice.source
    if (at / PROVENANCE).is_file():
        shutil.rmtree(at)  # a merge that an earlier call wrote: it is made again, to the byte
    merge(choice.recipe, at)
    return str(at)


def confirm(
    path: Path,
    config: RestoreConfig,
    chosen: tuple[Candidate, str],
    uniform: Candidate | None,
    prompts: Sequence[Prompt],
    on_event: OnEvent,
) -> Proof:
    """Audit the policies in a folder of their own and read what it says of each.

    chosen: the candidate and the source that it is opened by.
    """
    names = {TRAINED: config.trained, chosen[0].name: chosen[1]}
    if uniform is None or uniform.name == chosen[0].name:
        return _audited(path, config, names, prompts, on_event)
    with weights(uniform, path / UNIFORM_AT) as source:
        return _audited(path, config, {**names, uniform.name: source}, prompts, on_event)


def _audited(
    path: Path,
    config: RestoreConfig,
    names: Mapping[str, str],
    prompts: Sequence[Prompt],
    on_event: OnEvent,
) -> Proof:
    asked = _run_config(config, tuple(names.values()))
    told = {k: v for k, v in asked.to_dict().items() if k not in ("device", "batch_rows")}
    folder = path / "confirmation" / digest("confirm", list(names), told, length=8)
    folder.parent.mkdir(parents=True, exist_ok=True)
    result = audit(folder, asked, on_event)
    run = Run.open(folder)
    keys = {policy.source: policy.key for policy in run.policies()}
    task = load_task(config.task)
    wheres = {name: Where(policy_key=keys[source], spec=asked.specs[0], task=task)
              for name, source in names.items()}  # fmt: skip
    k, order = config.objective.k, [prompt.key for prompt in prompts]
    scores = {name: read_scores(run, where, order, k) for name, where in wheres.items()}
    standings = {
        name: found
        for name in list(names)[1:]
        if (found := standing_of(name, scores[TRAINED], scores[name], config.objective,
                                 config.margin)) is not None
    }  # fmt: skip
    ratios = {name: _ratio(scores[TRAINED], scores[name], config) for name in standings}
    future = {name: _future(run, where, config) for name, where in wheres.items()}
    return Proof(audit=result, scores=scores, standings=standings, ratios=ratios, future=future)


def _run_config(config: RestoreConfig, policies: tuple[str, ...]) -> RunConfig:
    return RunConfig(
        policies=policies,
        task=config.task,
        future_tasks=config.future_tasks,
        n=config.confirm_samples,
        prompts=config.confirm_prompts,
        temperatures=(config.temperature,),
        max_new_tokens=config.max_new_tokens,
        seed=config.seed,
        prompts_seed=config.seed + CONFIRMATION,
        group=config.group,
        prompt_format=config.prompt_format,
        device=config.device,
        dtype=config.dtype,
        batch_rows=config.batch_rows,
        engine_args=config.engine_args,
    )


def _ratio(before: Scores, after: Scores, config: RestoreConfig) -> Interval:
    under, over = shared(before, after, (config.objective.text,))
    return ratio_interval(over, under)


def _future(run: Run, where: Where, config: RestoreConfig) -> dict[str, Values]:
    found: dict[str, Values] = {}
    for name in config.future_tasks:
        task: Task = load_task(name)
        keys = [prompt.key for prompt in run.prompts(task.name)]
        found[name] = read_trainability(run, replace(where, task=task), keys, config.group)
    return found
