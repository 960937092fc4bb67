"""The table of a search: every candidate on the selection prompts, the proof on the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rewardable.metrics import Interval, NonInferiority
from rewardable.results import Estimate, Label, Row, Table
from rewardable.workflows.restoring.candidates import Candidate
from rewardable.workflows.restoring.config import RestoreConfig
from rewardable.workflows.restoring.confirm import Proof
from rewardable.workflows.restoring.halving import Choice, Halving, Schedule, Standing
from rewardable.workflows.restoring.scores import PASS, TRAINABILITY, Scores, Values, level_of

SELECTION, CONFIRMATION = "selection", "confirmation"
LEVEL, CHANGE, RATIO = "level", "change", "ratio"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """One policy of the search. role: trained, candidate, uniform, chosen or baseline."""

    name: str
    role: str
    family: str
    scores: Scores
    standing: Standing | None = None
    passes: float = 1.0
    models: int = 1
    future: Mapping[str, Values] = field(default_factory=dict[str, Values])


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """All that the search found out. left_out: candidate -> why it could not be looked at."""

    config: RestoreConfig
    schedule: Schedule
    halving: Halving
    choice: Choice
    seen: tuple[Seen, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


def restore_table(search: Search, chosen: Candidate | None, proof: Proof | None) -> Table:
    """Return the table ``restore``; its notes say in sentences what was found.

    Rows: ``split`` selection or confirmation, ``policy``, ``role``, ``family``, ``of`` level,
    change (against the trained checkpoint, paired) or ratio, ``metric``, ``finalist``; the change
    of pass@1 also as metric "pass@1, one-sided", with the margins.
    """
    rows = [row for seen in search.seen for row in _selection_rows(search, seen)]
    if proof is not None:
        rows += _proof_rows(search, proof)
    return Table(
        name="restore",
        title="Candidates by what they keep and regain",
        rows=tuple(rows),
        notes=tuple(sentences(search, chosen, proof)),
        provenance={"restore": search.config.to_dict()},
    )


def _selection_rows(search: Search, seen: Seen) -> Iterator[Row]:
    labels: dict[str, Label] = {
        "split": SELECTION,
        "policy": seen.name,
        "role": seen.role,
        "family": seen.family,
        "passes": seen.passes,
        "models": seen.models,
        "finalist": seen.name in search.halving.finalists,
    }
    yield from _levels(labels, seen.scores, seen.future)
    if seen.standing is not None:
        yield from _changes(labels, seen.standing, search.config, seen.scores)


def _proof_rows(search: Search, proof: Proof) -> Iterator[Row]:
    roles = {seen.name: seen for seen in search.seen}
    for name, scores in proof.scores.items():
        seen = roles[name]
        labels: dict[str, Label] = {
            "split": CONFIRMATION,
            "policy": name,
            "role": seen.role,
            "family": seen.family,
            "passes": seen.passes,
            "models": seen.models,
            "finalist": True,
        }
        yield from _levels(labels, scores, proof.future[name])
        if name in proof.standings:
            yield from _changes(labels, proof.standings[name], search.config, scores)
            ratio = {**labels, "of": RATIO, "metric": search.config.objective.text}
            yield Row(labels=ratio, estimate=_estimate(proof.ratios[name], scores))


def _levels(
    labels: Mapping[str, Label], scores: Scores, future: Mapping[str, Values]
) -> Iterator[Row]:
    told = [*scores.values.items()]
    told += [(f"{TRAINABILITY} on {task}", values) for task, values in future.items()]
    for metric, values in told:
        found = level_of(values)
        if found is None:
            estimate = Estimate(value=None, warnings=("no graded rollouts",))
        else:
            estimate = _estimate(found, scores, sum(not math.isnan(value) for value in values))
        yield Row(labels={**labels, "of": LEVEL, "metric": metric}, estimate=estimate)


def _changes(
    labels: Mapping[str, Label], standing: Standing, config: RestoreConfig, scores: Scores
) -> Iterator[Row]:
    objective = {**labels, "of": CHANGE, "metric": config.objective.text}
    yield Row(labels=objective, estimate=_estimate(standing.gain, scores, standing.n_prompts))
    kept = standing.kept
    margins: dict[str, Label] = {
        "margin": kept.margin,
        "certified": kept.certified,
        "least_margin": kept.least_margin,
        "carried": kept.carried,
        "needed": kept.needed,
    }
    yield Row(
        labels={**labels, "of": CHANGE, "metric": f"{PASS}, one-sided", **margins},
        estimate=_one_sided(kept, scores),
    )


def _one_sided(kept: NonInferiority, scores: Scores) -> Estimate:
    return Estimate(
        value=kept.difference, low=kept.low, high=None, level=kept.level, method=kept.method,
        n_prompts=kept.n_prompts, n_graded=scores.n_graded, n_ungraded=scores.n_ungraded,
        warnings=kept.warnings,
    )  # fmt: skip


def _estimate(found: Interval, scores: Scores, prompts: int = 0) -> Estimate:
    known = prompts or len(next(iter(scores.values.values()), ()))
    value = None if math.isnan(found.mean) else found.mean
    low, high = (None if math.isnan(end) else end for end in (found.low, found.high))
    return Estimate(
        value=value, low=low, high=high, level=found.level, method=found.method, n_prompts=known,
        n_graded=scores.n_graded, n_ungraded=scores.n_ungraded, warnings=found.warnings,
    )  # fmt: skip


def sentences(search: Search, chosen: Candidate | None, proof: Proof | None) -> Iterable[str]:
    """Say what was chosen, what the proof says of it, what it cost, what was left out."""
    if chosen is None:
        yield _nothing(search)
    else:
        yield _selected(search, chosen)
        if proof is not None:
            yield from _proved(search, chosen, proof)
        yield f"At inference: {chosen.passes:g} forward passes a token, {_models(chosen)}."
    visits, grid = search.halving.visits, search.schedule.grid
    yield (
        f"The search looked at {len(search.halving.last)} candidates with {visits:,} visits of "
        f"{search.config.samples} samples, {visits / grid:.2f} of the full grid's {grid:,}."
    )
    if visits > search.config.share * grid:
        yield f"More than {search.config.share:g} of the grid: there are too few candidates."
    for name, why in search.left_out.items():
        yield f"{name} was left out: {why}"
    yield from search.notes
    yield "Intervals cover prompts and samples, not training seeds."


def _nothing(search: Search) -> str:
    margin = search.choice.margin * 100
    return (
        f"No candidate gained {search.config.objective.text} with pass@1 certified within "
        f"{margin:.2f} points of the trained checkpoint: nothing was written."
    )


def _selected(search: Search, chosen: Candidate) -> str:
    choice, standing = search.choice, search.halving.last[chosen.name]
    text = (
        f"Selection ({standing.n_prompts} prompts): {chosen.name}, {_gain(search, standing)}, "
        f"pass@1 {_kept(standing.kept)}."
    )
    if choice.widened:
        text += (
            f" These prompts do not carry a margin of {_points(choice.asked)}; the choice "
            f"was certified within {choice.margin * 100:.2f}."
        )
    return text


def _proved(search: Search, chosen: Candidate, proof: Proof) -> Iterator[str]:
    for name, standing in proof.standings.items():
        kept, ratio = standing.kept, proof.ratios[name]
        said = "certified" if kept.certified else "NOT certified"
        which = "the choice" if name == chosen.name else "the uniform merge"
        text = (
            f"Confirmation ({standing.n_prompts} other prompts), {which} {name}: "
            f"{_gain(search, standing)}, {ratio.mean:.2f} [{ratio.low:.2f}, {ratio.high:.2f}] "
            f"times the trained checkpoint's; pass@1 {_kept(kept)}: {said} within "
            f"{_points(kept.margin)}."
        )
        if not kept.certified:
            text += (
                f" Certified is a margin of {kept.least_margin * 100:.2f} points; {kept.needed:,} "
                "prompts would carry the margin asked for."
            )
        yield text


def _gain(search: Search, standing: Standing) -> str:
    gain = standing.gain
    return f"{search.config.objective.text} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def _kept(kept: NonInferiority) -> str:
    return f"{kept.difference * 100:+.2f} points (at least {kept.low * 100:+.2f})"


def _points(margin: float) -> str:
    points = f"{margin * 100:g}"
    return f"{points} point" if points == "1" else f"{points} points"


def _models(candidate: Candidate) -> str:
    return (
        "one model in memory" if candidate.models == 1 else f"{candidate.models} models in memory"
    )
