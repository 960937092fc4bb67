"""The timeline of a training run: what was logged, what was sampled, what the guard decided."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rewardable.errors import DataError
from rewardable.guard import Audit, Observation
from rewardable.importers.logs import read_metrics
from rewardable.metrics import fixed_prompts_interval, trainability
from rewardable.report.timeline import render_timeline
from rewardable.results import Estimate, Label, Row, Table, table_to_json
from rewardable.store.files import write_text
from rewardable.train.guarding import DECISIONS, OBSERVATIONS
from rewardable.workflows.guarding.replay import METRICS, observations

ROLLBACKS = "rollbacks.json"
TABLE, PAGE = "timeline.json", "timeline.html"
AT = 8
"""k of support@k and G of trainability@G of the sampled looks."""

SERIES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "reward": {"raw": ("reward/raw", "reward"), "shaped": ("reward/shaped",)},
    "entropy": {
        "first token": ("entropy/first_token", "first_token_entropy"),
        "mean": ("entropy/mean", "entropy"),
    },
    "KL": {"to the reference": ("kl",)},
    "length": {"mean": ("length/mean", "completions/mean_length"), "p90": ("length/p90",)},
    "shares": {
        "groups without variation": ("groups/constant", "frac_reward_zero_std"),
        "truncated": ("truncated", "completions/clipped_ratio"),
        "format kept": ("format",),
        "ungraded": ("ungraded",),
    },
    "distinct a group": {
        "outputs": ("distinct/outputs", "distinct_outputs"),
        "solutions": ("distinct/solutions",),
    },
}
"""Panel -> line -> the names it may have in the log; the first found counts."""

NOTES = (
    "Rewards, entropies, lengths and shares are those of the step's own rollouts, drawn from the "
    "policy as it learns; they carry no interval. Sampled looks are at the held-out prompts of "
    "later tasks: intervals are of one look at exactly these prompts, 95 % each on its own. The "
    "guard's decisions rest on all looks together.",
)


def is_training_run(path: Path) -> bool:
    """Tell a folder in which a run was trained: it has logged steps."""
    return (path / METRICS).is_file()


def write_timeline(path: Path, title: str = "") -> Path:
    """Write ``timeline.json`` and ``timeline.html`` into a training run's folder.

    Raises
    ------
    DataError: nothing was logged.
    """
    table = timeline_table(path)
    write_text(path / TABLE, table_to_json(table))
    return render_timeline(table, path / PAGE, title=title or f"Training timeline: {path.name}")


def timeline_table(path: Path) -> Table:
    """Return every figure of the run's steps.

    Labels: ``panel``, ``line``, ``step``; sampled looks have ``task`` too; the panel ``decision``
    has ``state``, ``done`` and ``remedy`` (the estimate is that of the signal that spoke), and
    ``rollback`` has ``to``.
    """
    steps = read_metrics(path / METRICS).steps
    if not steps:
        raise DataError(f"{path / METRICS} holds no training step.")
    seen = observations(path / OBSERVATIONS) if (path / OBSERVATIONS).is_file() else []
    said = _lines(path / DECISIONS)
    decisions = [*_decisions(said), *_rollbacks(path / ROLLBACKS)]
    return Table(
        name="timeline",
        title="Training timeline",
        rows=(*_logged(steps), *_looks(seen), *decisions),
        notes=(_summary(len(steps), seen, decisions), *_cost(said), *NOTES),
        provenance={"run": str(path)},
    )


def _logged(steps: Mapping[int, Mapping[str, float]]) -> Iterator[Row]:
    for panel, lines in SERIES.items():
        for line, names in lines.items():
            name = next((n for n in names if any(n in row for row in steps.values())), "")
            for step, row in steps.items():
                value = row.get(name)
                if value is not None and value == value:  # noqa: PLR0124 - NaN is no value
                    yield _row(Estimate(value=value, method="logged"), panel, line, step)


def _row(estimate: Estimate, panel: str, line: str, step: int, **more: Label) -> Row:
    return Row(labels={"panel": panel, "line": line, "step": step, **more}, estimate=estimate)


def _looks(seen: Sequence[Observation]) -> Iterator[Row]:
    for one in seen:
        for task in dict.fromkeys(audit.task for audit in one.audits):
            for line, estimate in _sampled([a for a in one.audits if a.task == task]):
                yield _row(estimate, "looks", line, one.step, task=task)


def _sampled(looks: Sequence[Audit]) -> Iterator[tuple[str, Estimate]]:
    """Yield the figures of one step's looks at a task; those at the start are put together."""
    keys = [key for key in looks[0].prompts if all(_n(look, key) for look in looks)]
    if not keys:
        return
    n_P = [sum(_n(look, key) for look in looks) for key in keys]
    c_P = [sum(look.prompts[key].c for look in looks) for key in keys]
    common: dict[str, Any] = {
        "n_prompts": len(keys), "n_graded": sum(n_P), "n_ungraded": sum(a.ungraded for a in looks),
    }  # fmt: skip
    for name, k in (("pass@1", 1), (f"support@{AT}", AT)):
        if min(n_P) >= k:
            found = fixed_prompts_interval(n_P, c_P, k)
            yield name, Estimate(
                value=found.mean, low=found.low, high=found.high, level=found.level,
                method=found.method, **common,
            )  # fmt: skip
    if min(n_P) >= AT:
        varied = float(trainability(n_P, c_P, AT).mean())
        yield f"trainability@{AT}", Estimate(value=varied, method="mean of these prompts", **common)
    found_D = [look.prompts[key].distinct for look in looks for key in keys]
    known = [one for one in found_D if one is not None]
    if len(known) == len(found_D):
        mean = sum(known) / len(known)
        yield "distinct solutions in a look", Estimate(value=mean, method="count", **common)


def _n(look: Audit, key: str) -> int:
    return look.prompts[key].n if key in look.prompts else 0


def _decisions(said: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    for one in said:
        if one.get("speaks"):
            off = next((e for e in one["evidence"] if e["fallen"]), None)
            done = "; ".join(one.get("done", ()))
            yield _row(
                _evidence(off), "decision", off["signal"] if off else "", int(one["step"]),
                state=one["state"], done=done, remedy=one["remedy"],
                task=off["task"] if off else None,
            )  # fmt: skip


def _evidence(off: Mapping[str, Any] | None) -> Estimate:
    if off is None:
        return Estimate(value=None, warnings=("nothing is off",))
    return Estimate(
        value=off["value"],
        low=off["low"],
        high=off["high"],
        level=off["level"] or 0.95,
        method="at this look, valid over all looks of the run" if off["level"] else "logged",
        n_prompts=off["n_prompts"],
        n_graded=off["n_rollouts"],
    )


def _rollbacks(file: Path) -> list[Row]:
    kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return [
        _row(Estimate(value=None, warnings=("a step, not a figure",)), "rollback", "",
             int(one["at"]), to=int(one["to"]), remedy=one["why"])
        for one in kept
    ]  # fmt: skip


def _summary(steps: int, seen: Sequence[Observation], decisions: Sequence[Row]) -> str:
    looks = sum(bool(one.audits) for one in seen)
    text = f"{steps} logged steps; future tasks were looked at {looks} times."
    if not seen:
        return f"{steps} logged steps; no guard watched."
    if not decisions:
        return f"{text} The guard said nothing."
    return " ".join([text, *map(_sentence, decisions)])


def _sentence(row: Row) -> str:
    labels = row.labels
    if labels["panel"] == "rollback":
        return f"Step {labels['step']}: rolled back to step {labels['to']}."
    done = f" ({labels['done']})" if labels["done"] else ""
    remedy = f": {labels['remedy']}" if labels["remedy"] else "."
    return f"Step {labels['step']}: {labels['state']}{remedy}{done}"


def _cost(said: Sequence[Mapping[str, Any]]) -> list[str]:
    closing = [one for one in said if one.get("closing")]
    if not closing:
        return []
    last = closing[-1]
    thinking, looking = last["guard/share_thinking"], last["guard/share_looking"]
    text = f"The guard took {thinking:.1%} of the time, its looks {looking:.1%}"
    if last["looks_postponed"]:
        text += f"; {last['looks_postponed']} looks were put off for want of budget"
    failed = f" It failed and ended: {last['failed']}." if last["failed"] else ""
    return [f"{text}.{failed}"]


def _lines(file: Path) -> list[dict[str, Any]]:
    """Return the whole lines; one without its end is no line."""
    if not file.is_file():
        return []
    whole = file.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in whole if line.strip()]
