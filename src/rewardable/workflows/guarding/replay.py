"""Replay what a run logged, and what was sampled of it, through the guard's core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rewardable.errors import DataError
from rewardable.guard import (
    Audit,
    Decision,
    Guard,
    GuardConfig,
    Metric,
    Observation,
    PromptAudit,
    RunMeta,
    parse_line,
)
from rewardable.importers.logs import OURS, MetricsLog, Sampled, read_dump, read_metrics
from rewardable.train.guarding import OBSERVATIONS

METRICS = "metrics.jsonl"
UNKNOWN = "unknown metric "


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """decisions: one an observation. unknown: metric names that mean nothing to the guard.

    notes: what the source lacks. audits: how many sampled looks there were.
    """

    format: str
    decisions: tuple[Decision, ...]
    audits: int
    notes: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def spoken(self) -> tuple[Decision, ...]:
        """Those at which the state changed."""
        return tuple(one for one in self.decisions if one.speaks)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was said of the input, unknown names aside."""
        found = [notice for one in self.decisions for notice in one.notices]
        return tuple(notice.text for notice in found if not notice.name.startswith(UNKNOWN))


def replay(
    path: Path, config: GuardConfig, dumps: Sequence[Path] = (), success_at: float = 1.0
) -> Replay:
    """Show the guard a finished run's rows in order.

    path: a run folder of ours, ``metrics.jsonl``, ``guard.jsonl`` (recorded observations, with
    their audits), TRL's ``trainer_state.json``, or the file of verl's file logger. dumps: verl's
    dumps; a validation dump is a sampled look at held-out prompts, a training dump gives numbers
    of its groups. Rolled-back parts are not in a record, so they are not replayed.

    Raises
    ------
    DataError: a file that cannot be read as one of these, or nothing to observe.
    """
    log, observed = _observed(path)
    sampled = [(folder, one) for folder in dumps for one in read_dump(folder, success_at)]
    rows = _joined(observed, sampled)
    if not rows:
        raise DataError(f"{path} holds no training step and no look, so there is nothing to judge.")
    guard = Guard(config)
    decisions = tuple(guard.observe(row) for row in rows)
    names = [notice.name for one in decisions for notice in one.notices]
    return Replay(
        format=log.format,
        decisions=decisions,
        audits=sum(len(row.audits) for row in rows),
        notes=log.notes,
        unknown=tuple(n.removeprefix(UNKNOWN) for n in names if n.startswith(UNKNOWN)),
    )


def observations(path: Path) -> list[Observation]:
    """Return the rows of a ``guard.jsonl``; of a torn last line nothing."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    found = [parse_line(line) for line in lines if line.strip()]
    return [one for one in found if not isinstance(one, RunMeta)]


def _observed(path: Path) -> tuple[MetricsLog, list[Observation]]:
    """Return what was logged and, where it was recorded with its looks, what was observed."""
    folder = path if path.is_dir() else path.parent
    ours = path.is_dir() or path.name in (METRICS, OBSERVATIONS)
    recorded = folder / OBSERVATIONS
    seen = observations(recorded) if ours and recorded.is_file() else []
    if path.name == OBSERVATIONS:
        return MetricsLog(format=OURS, steps={}), seen
    logged = path / METRICS if path.is_dir() else path
    log = read_metrics(logged if logged.is_file() else path)
    rows = {step: Observation(step=step, metrics=dict(n)) for step, n in log.steps.items()}
    return log, list({**rows, **{one.step: one for one in seen}}.values())


def _joined(
    observed: Iterable[Observation], sampled: Iterable[tuple[Path, Sampled]]
) -> list[Observation]:
    rows = {one.step: one for one in observed}
    for folder, one in sampled:
        row = rows.get(one.step, Observation(step=one.step))
        audits, numbers = row.audits, dict(row.metrics)
        if one.held_out:
            audits = (*audits, _audit(folder.name, one))
        else:
            numbers = {**_group_numbers(one), **numbers}
        rows[one.step] = Observation(step=one.step, metrics=numbers, audits=audits)
    return [rows[step] for step in sorted(rows)]


def _audit(task: str, one: Sampled) -> Audit:
    return Audit(
        task=task,
        prompts={prompt: PromptAudit(n=n, c=c) for prompt, (n, c) in one.counts.items()},
        ungraded=one.ungraded,
    )


def _group_numbers(one: Sampled) -> dict[str, float | Metric]:
    """Return what a step's groups show: distinct outputs, and groups all right or all wrong."""
    if not one.counts:
        return {}
    groups = [counts for counts in one.counts.values() if counts[0]]
    found: dict[str, float | Metric] = {
        "distinct_outputs": sum(len(set(texts)) for texts in one.outputs.values())
        / len(one.outputs)
    }
    if groups:
        constant = sum(c in (0, n) for n, c in groups) / len(groups)
        found["zero_variance_share"] = Metric(value=constant, n=len(groups))
    return found
