"""One line of a recorded run: its description with the truth, or what one step logged.

A file is JSON Lines: ``meta`` once (first or last), then one ``row`` a step, in order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from rewardable.errors import DataError
from rewardable.guard.observation import Audit, Metric, Observation, PromptAudit

RECORD_VERSION = 1
Label = Literal["healthy", "collapsing", "other"]
LABELS: tuple[Label, ...] = ("healthy", "collapsing", "other")


@dataclass(frozen=True, kw_only=True)
class RunMeta:
    """What a recorded run was, and what truly became of its support.

    support: (step, value) pairs, exact or from a large sample that the audits do not share; the
        first is the base, the last the end. measure: what the values are.
    simulated: the rows come from a model of runs, not from training.
    """

    run: str
    label: Label
    support: tuple[tuple[int, float], ...]
    measure: str = ""
    simulated: bool = False
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def retained(self) -> float:
        """Support at the end over support of the base."""
        return self.support[-1][1] / self.support[0][1]

    def step_at(self, share: float) -> float | None:
        """Return the step from which less than ``share`` of the base is left, linear between."""
        limit = share * self.support[0][1]
        for (left, high), (right, low) in zip(self.support, self.support[1:], strict=False):
            if low < limit:
                return left + (right - left) * max(high - limit, 0.0) / (high - low)
        return None


def parse_line(text: str) -> RunMeta | Observation:
    """Read one line; DataError says what was wrong."""
    try:
        raw = json.loads(text)
        if raw["kind"] == "meta":
            return _meta(raw)
        if raw["kind"] == "row":
            return Observation(
                step=int(raw["step"]),
                metrics={name: _metric(one) for name, one in raw.get("metrics", {}).items()},
                audits=_audits(raw.get("audit", {})),
            )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DataError(f"not a line of a recorded run: {error!r} in {text[:80]!r}") from error
    raise DataError(f"kind must be 'meta' or 'row', got {raw['kind']!r}.")


def line_of(item: RunMeta | Observation) -> str:
    """Write one line, without its end."""
    raw = _raw_meta(item) if isinstance(item, RunMeta) else _raw_row(item)
    return json.dumps(raw, separators=(",", ":"), allow_nan=False)


def _meta(raw: Mapping[str, Any]) -> RunMeta:
    if raw["version"] != RECORD_VERSION:
        raise DataError(f"record version {raw['version']} is not {RECORD_VERSION}.")
    truth = raw["truth"]
    support = tuple((int(step), float(value)) for step, value in truth["support"])
    if truth["label"] not in LABELS:
        raise DataError(f"label must be one of {', '.join(LABELS)}, got {truth['label']!r}.")
    if len(support) < 2 or support[0][1] <= 0 or list(support) != sorted(support):
        raise DataError("truth.support needs two [step, value] pairs or more, in order, base > 0.")
    return RunMeta(
        run=str(raw["run"]),
        label=truth["label"],
        support=support,
        measure=str(truth.get("measure", "")),
        simulated=bool(raw.get("simulated", False)),
        config=raw.get("config", {}),
    )


def _metric(raw: float | Sequence[Any] | None) -> Metric:
    if raw is None:
        return Metric(value=float("nan"))
    if isinstance(raw, int | float):
        return Metric(value=float(raw))
    value, n, *rest = raw
    return Metric(
        value=float("nan") if value is None else float(value),
        n=None if n is None else int(n),
        standard_error=float(rest[0]) if rest and rest[0] is not None else None,
    )


def _audits(raw: Mapping[str, Any]) -> tuple[Audit, ...]:
    found: list[Audit] = []
    for task, looks in raw.items():
        for look in looks if isinstance(looks, list) else [looks]:
            prompts = {key: _counts(row) for key, row in look.items()}
            found.append(Audit(task=task, prompts=prompts))
    return tuple(found)


def _counts(row: Sequence[int | None]) -> PromptAudit:
    n, c, distinct = row
    return PromptAudit(n=int(n or 0), c=int(c or 0), distinct=distinct)


def _raw_meta(meta: RunMeta) -> dict[str, Any]:
    truth = {"label": meta.label, "support": list(meta.support), "measure": meta.measure}
    return {
        "kind": "meta",
        "version": RECORD_VERSION,
        "run": meta.run,
        "simulated": meta.simulated,
        "truth": truth,
        "config": dict(meta.config),
    }


def _raw_row(seen: Observation) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": "row", "step": seen.step}
    if seen.metrics:
        row["metrics"] = {name: _raw_metric(one) for name, one in seen.metrics.items()}
    audits: dict[str, list[dict[str, list[int | None]]]] = {}
    for audit in seen.audits:
        counts = {key: [one.n, one.c, one.distinct] for key, one in audit.prompts.items()}
        audits.setdefault(audit.task, []).append(counts)
    if audits:
        row["audit"] = {task: one[0] if len(one) == 1 else one for task, one in audits.items()}
    return row


def _raw_metric(metric: float | Metric) -> Any:
    full = metric if isinstance(metric, Metric) else Metric(value=metric)
    value = full.value if isfinite(full.value) else None
    if full.standard_error is not None:
        return [value, full.n, full.standard_error]
    return value if full.n is None else [value, full.n]
