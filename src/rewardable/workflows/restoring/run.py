"""Search, choose, prove, write; goes on where it was interrupted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.errors import ConfigError, DataError
from rewardable.records import Json
from rewardable.report.pareto import render_restored
from rewardable.restore import record_evidence
from rewardable.results import Table, table_to_json
from rewardable.tasks import load_task
from rewardable.workflows.events import Event, OnEvent, ignore
from rewardable.workflows.restoring.baselines import baselines_of
from rewardable.workflows.restoring.candidates import (
    UNIFORM,
    Candidate,
    Parents,
    candidates_of,
    layers_of,
)
from rewardable.workflows.restoring.config import RestoreConfig
from rewardable.workflows.restoring.confirm import Proof, confirm, write_choice
from rewardable.workflows.restoring.drawing import TRAINED, Drawer
from rewardable.workflows.restoring.halving import (
    Halving,
    Schedule,
    Standing,
    choose,
    halve,
    plan_rungs,
)
from rewardable.workflows.restoring.scores import Scores, standing_of
from rewardable.workflows.restoring.splits import split_prompts
from rewardable.workflows.restoring.tables import Search, Seen, restore_table

FUTURE_SEED = 2
"""Added to the seed of the future tasks' prompts in the search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RestoreResult:
    """Where it lies and what it says.

    chosen: None where no candidate may be chosen. source: how to open the restored policy.
    confirmed: whether the confirmation certified the margin that was asked for.
    rollouts: drawn by this call in the search.
    """

    path: Path
    report: Path
    table: Table
    chosen: Candidate | None
    source: str
    confirmed: bool
    rollouts: int

    @property
    def verdict(self) -> tuple[str, ...]:
        """The findings in words."""
        return self.table.notes


def restore(path: Path, config: RestoreConfig, on_event: OnEvent = ignore) -> RestoreResult:
    """Search in ``path/candidates``, prove in ``path/confirmation``, write ``path/restored``.

    Raises
    ------
    ResumeError: ``path`` holds rollouts of other checkpoints.
    UserError: a policy or task cannot be loaded, the task has too few prompts, or no candidate
        could be looked at.
    """
    task = load_task(config.task)
    splits = split_prompts(
        task, config.prompts, config.confirm_prompts, config.seed, config.trained
    )
    drawer = Drawer(path=path, config=config, task=task, prompts=splits.selection,
                    on_event=on_event, options=config.engine_options())  # fmt: skip
    drawer.settle_template()
    search = _search(drawer, splits.notes)
    by_name = {one.name: one for one in _candidates(config)}
    chosen = by_name[search.choice.name] if search.choice.name is not None else None
    proof, source = None, ""
    if chosen is not None:
        source = write_choice(path, chosen)
        uniform = next((by_name[s.name] for s in search.seen if s.role == UNIFORM), None)
        proof = confirm(path, config, (chosen, source), uniform, splits.confirmation, on_event)
    return _written(path, drawer, search, chosen, proof, source)


def _candidates(config: RestoreConfig) -> list[Candidate]:
    parents = Parents(
        trained=config.trained,
        earlier=config.earlier,
        layers=layers_of(config.trained),
        alphas=config.alphas,
    )
    return candidates_of(parents, config.families)


def _search(drawer: Drawer, notes: tuple[str, ...]) -> Search:
    config, found = drawer.config, _candidates(drawer.config)
    schedule = plan_rungs(len(found), config.prompts, config.share)
    scores: dict[str, Scores] = {}
    left_out: dict[str, str] = {}
    by_name = {one.name: one for one in found}

    looked = Counter[int]()

    def look(name: str, count: int) -> Standing | None:
        drawer.stage = _stage(schedule, count, looked[count])
        before = scores.get(TRAINED)
        if before is None or before.n_prompts < count:
            before = scores[TRAINED] = drawer.scores(drawer.trained(), count)
        looked[count] += 1
        try:
            scores[name] = drawer.scores(by_name[name], count)
        except (ConfigError, DataError) as error:  # cannot be made: it is told, the others go on
            left_out[name] = str(error)
            return None
        drawer.on_event(_stage(schedule, count, looked[count]))
        return standing_of(name, before.first(count), scores[name], config.objective, config.margin)

    uniform = [one.name for one in found if one.family == UNIFORM]
    halving = halve([one.name for one in found], schedule, look, protect=uniform)
    if not halving.finalists:
        raise DataError(_no_candidate(config, left_out))
    return _chosen(drawer, schedule, halving, scores, left_out, notes)


def _stage(schedule: Schedule, prompts: int, done: int) -> Event:
    place = next(i for i, rung in enumerate(schedule.rungs) if rung.prompts == prompts)
    stage = f"rung {place + 1} of {len(schedule.rungs)}, candidates on {prompts} prompts"
    total = schedule.rungs[place].entrants
    return Event(stage=stage, done=min(done, total), total=total)


def _no_candidate(config: RestoreConfig, left_out: dict[str, str]) -> str:
    why = next(iter(left_out.values()), f"no prompt has a value of {config.objective.text}")
    hint = " Where a task lists no solutions use support@k." if not left_out else ""
    return f"no candidate could be judged: {why}.{hint}"


def _chosen(
    drawer: Drawer,
    schedule: Schedule,
    halving: Halving,
    scores: dict[str, Scores],
    left_out: dict[str, str],
    notes: tuple[str, ...],
) -> Search:
    config = drawer.config
    choice = choose([halving.last[name] for name in halving.finalists], config.margin)
    by_name = {one.name: one for one in _candidates(config)}
    uniform = _best_uniform(halving, by_name, config.margin)
    _settle_futures(drawer)
    drawer.stage = Event(stage="future tasks and baselines", done=0, total=1)
    seen = [_seen(drawer, drawer.trained(), TRAINED, scores[TRAINED], None, future=True)]
    for name, standing in halving.last.items():
        role = "chosen" if name == choice.name else UNIFORM if name == uniform else "candidate"
        final = name in halving.finalists
        seen.append(_seen(drawer, by_name[name], role, scores[name], standing, future=final))
    beside, told = _beside(drawer, schedule, scores[TRAINED]) if config.baselines else ([], [])
    drawer.on_event(replace(drawer.stage, done=1))
    return Search(
        config=config,
        schedule=schedule,
        halving=halving,
        choice=choice,
        seen=(*seen, *beside),
        left_out=left_out,
        notes=(*notes, *told),
    )


def _best_uniform(halving: Halving, by_name: dict[str, Candidate], margin: float) -> str | None:
    """Return the uniform merge that the same rule would choose, else the one of the best rank."""
    finals = [halving.last[n] for n in halving.finalists if by_name[n].family == UNIFORM]
    best = max(finals, key=lambda one: one.rank, default=None)
    return choose(finals, margin).name or (best.name if best is not None else None)


def _settle_futures(drawer: Drawer) -> None:
    config = drawer.config
    for name in config.future_tasks:
        task = load_task(name)
        prompts = tuple(task.prompts(config.future_prompts, config.seed + FUTURE_SEED))
        drawer.future = {**drawer.future, name: (task, prompts)}


def _seen(
    drawer: Drawer, one: Candidate, role: str, scores: Scores, standing: Standing | None, *,
    future: bool,
) -> Seen:  # fmt: skip
    return Seen(
        name=one.name,
        role=role,
        family=one.family,
        scores=scores,
        standing=standing,
        passes=one.passes,
        models=one.models,
        future=drawer.futures(one) if future else {},
    )


def _beside(drawer: Drawer, schedule: Schedule, trained: Scores) -> tuple[list[Seen], list[str]]:
    """Look at the baselines on the prompts of the first rung; they are in no competition."""
    config, count = drawer.config, schedule.rungs[0].prompts
    prompts = drawer.prompts[:count]
    asked, told = baselines_of(config, drawer.task, prompts)
    found: list[Seen] = []
    for one in asked:
        scores = drawer.baseline(one, prompts)
        standing = standing_of(
            one.name, trained.first(count), scores, config.objective, config.margin
        )
        if standing is None:
            told.append(f"The baseline {one.name} has no graded rollouts to compare.")
            continue
        found.append(Seen(name=one.name, role="baseline", family="baseline", scores=scores,
                          standing=standing))  # fmt: skip
    return found, told


def _written(
    path: Path,
    drawer: Drawer,
    search: Search,
    chosen: Candidate | None,
    proof: Proof | None,
    source: str,
) -> RestoreResult:
    table = restore_table(search, chosen, proof)
    if source and chosen is not None and chosen.recipe is None:
        table = replace(table, notes=(*table.notes, f"The restored policy's source: {source}"))
    (path / "restore.json").write_text(table_to_json(table), encoding="utf-8")
    report = render_restored(table, path / "report.html", title=f"Restored: {path.name}",
                             objective=search.config.objective.text)  # fmt: skip
    confirmed = bool(
        proof and chosen and chosen.name in proof.standings
        and proof.standings[chosen.name].kept.certified
    )  # fmt: skip
    if chosen is not None and chosen.recipe is not None:
        evidence: dict[str, Json] = {"search": list(table.notes), "confirmed": confirmed,
                                     "task": search.config.task}  # fmt: skip
        record_evidence(source, evidence)
    return RestoreResult(path=path, report=report, table=table, chosen=chosen, source=source,
                         confirmed=confirmed, rollouts=drawer.rollouts)  # fmt: skip
