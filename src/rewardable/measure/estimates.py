"""From per-prompt values to estimates: intervals over prompts, bounds for ungraded rollouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rewardable.measure.arms import Arm, Bools, Counts, Floats, Ints
from rewardable.measure.config import MeasureConfig
from rewardable.metrics import Interval, curve_band, mean_interval, paired_band, paired_interval
from rewardable.results import Estimate

SIMULTANEOUS, POINTWISE = "simultaneous", "pointwise"
NO_BUDGET = (0,)
NO_BOUNDS = "{} ungraded rollouts are left out, without bounds for what they could change"


@dataclass(frozen=True, kw_only=True)
class PerPrompt:
    """One metric of one arm: a value a prompt and budget; NaN where it is undefined.

    low_PK, high_PK: the values at the two extremes of what the ungraded rollouts could be; None
    where there are none or where the metric needs no grade.
    aside_low_QK, aside_high_QK: the same of prompts that have no value, because some arm has no
    graded rollout of them; bounds include them.
    cluster_P: prompts of one source problem carry one number; None: all are independent.
    total: the estimate is the sum over prompts, not the mean.
    undefined: why a value can be NaN, in words.
    """

    values_PK: Floats
    n_graded: int
    n_ungraded: int = 0
    low_PK: Floats | None = None
    high_PK: Floats | None = None
    aside_low_QK: Floats | None = None
    aside_high_QK: Floats | None = None
    cluster_P: Ints | None = None
    total: bool = False
    undefined: str = "undefined"

    def kept(self, keep_P: Bools) -> PerPrompt:
        """Return the same for the prompts kept."""
        low, high, cluster = self.low_PK, self.high_PK, self.cluster_P
        return replace(
            self,
            values_PK=self.values_PK[keep_P],
            low_PK=None if low is None else low[keep_P],
            high_PK=None if high is None else high[keep_P],
            cluster_P=None if cluster is None else cluster[keep_P],
        )


@dataclass(frozen=True)
class Measured:
    """The estimate at one budget, with the simultaneous and the pointwise interval."""

    k: int
    simultaneous: Estimate
    pointwise: Estimate

    def __iter__(self) -> Iterator[tuple[str, Estimate]]:
        """Yield (name of the band, estimate)."""
        yield SIMULTANEOUS, self.simultaneous
        yield POINTWISE, self.pointwise


def counted(
    arm: Arm,
    metric: Callable[[Counts], Floats],
    *,
    total: bool = False,
    undefined: str = "undefined",
    counts: Counts | None = None,
) -> PerPrompt:
    """Apply a metric of (n, c), giving [P] or [P, K], to an arm's counts, or to other ones.

    Ungraded rollouts give bounds, not values.
    """
    counts = arm.counts if counts is None else counts
    low = high = None
    if counts.u_P.any():
        ends = [_columns(metric(counts.all_wrong)), _columns(metric(counts.all_right))]
        low, high = np.minimum(*ends), np.maximum(*ends)
    return PerPrompt(
        values_PK=_columns(metric(counts)),
        n_graded=int(counts.n_P.sum()),
        n_ungraded=int(counts.u_P.sum()),
        low_PK=low,
        high_PK=high,
        cluster_P=arm.cluster_P,
        total=total,
        undefined=undefined,
    )


def stopped_counted(
    arm: Arm,
    metric: Callable[[Counts], Floats],
    *,
    total: bool = False,
    undefined: str = "undefined",
) -> PerPrompt:
    """Apply a metric that knows the stopping rule to the final states of an arm.

    Prompts set aside may hold anything: their bounds are 0 and 1.
    """
    found = arm.stopped
    if found is None:
        raise TypeError(f"{arm.policy} was not sampled under a stopping rule")
    values = _columns(metric(found.counts))
    low = high = None
    if found.counts.u_P.any():
        ends = [_columns(metric(found.low)), _columns(metric(found.high))]
        low, high = np.minimum(*ends), np.maximum(*ends)
    aside = np.zeros((len(arm.aside.n_P), values.shape[1]))
    return PerPrompt(
        values_PK=values,
        n_graded=int(found.counts.n_P.sum()),
        n_ungraded=int(found.counts.u_P.sum() + arm.aside.u_P.sum()),
        low_PK=low,
        high_PK=high,
        aside_low_QK=aside if len(aside) else None,
        aside_high_QK=aside + 1.0 if len(aside) else None,
        cluster_P=arm.cluster_P,
        total=total,
        undefined=undefined,
    )


def all_rollouts(arm: Arm, values: Floats, *, undefined: str = "undefined") -> PerPrompt:
    """Wrap a metric that needs no grade: every rollout counts."""
    n = len(arm.samples.prompt_R)
    return PerPrompt(
        values_PK=_columns(values), n_graded=n, cluster_P=arm.cluster_P, undefined=undefined
    )


def estimate_of(found: Interval, arms: Sequence[Arm], *, scale: float = 1.0) -> Estimate:
    """Turn an interval of a whole-arm metric into an estimate about these arms.

    Such metrics carry no bounds for ungraded rollouts; where there are any, a warning says so.
    """
    ungraded = sum(arm.n_ungraded for arm in arms)
    warnings = (*found.warnings, *((NO_BOUNDS.format(ungraded),) if ungraded else ()))
    return Estimate(
        value=_scaled(found.mean, scale),
        low=_scaled(found.low, scale),
        high=_scaled(found.high, scale),
        level=found.level,
        method=found.method,
        n_prompts=arms[0].n_prompts,
        n_graded=sum(arm.n_graded for arm in arms),
        n_ungraded=ungraded,
        warnings=warnings,
    )


def _columns(values: Floats) -> Floats:
    values = np.asarray(values, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def mean_of(item: PerPrompt, config: MeasureConfig) -> Estimate:
    """Estimate the mean (or total) over prompts of a metric without a budget."""
    return measure([item], NO_BUDGET, config)[0].pointwise


def difference_of(before: PerPrompt, after: PerPrompt, config: MeasureConfig) -> Estimate:
    """Estimate after - before, paired by prompt, of a metric without a budget."""
    return measure([before, after], NO_BUDGET, config)[0].pointwise


def measure(
    items: Sequence[PerPrompt], ks: Sequence[int], config: MeasureConfig
) -> tuple[Measured, ...]:
    """Estimate one metric at every budget; for two items, their paired difference.

    Prompts without any defined value are left out, with a warning. A budget at which another
    prompt is undefined gets no value: an average over fewer prompts would hide the gap.
    """
    items, warnings = _with_any_value(items)
    full_K = np.all([np.isfinite(item.values_PK).all(axis=0) for item in items], axis=0)
    if not len(items[0].values_PK):
        full_K = np.zeros(len(ks), dtype=bool)
    values, clusters = [item.values_PK[:, full_K] for item in items], items[0].cluster_P
    curve = _curve(values, config, clusters) if full_K.any() else None
    place_K = np.cumsum(full_K) - 1
    return tuple(
        _measured(items, k, column, curve if full_K[column] else None, int(place_K[column]),
                  warnings, config)
        for column, k in enumerate(ks)
    )  # fmt: skip


def _with_any_value(items: Sequence[PerPrompt]) -> tuple[list[PerPrompt], tuple[str, ...]]:
    some_P = np.all([np.isfinite(item.values_PK).any(axis=1) for item in items], axis=0)
    if some_P.all():
        return list(items), ()
    out = int((~some_P).sum())
    warning = f"{out} of {len(some_P)} prompts left out: {items[0].undefined}"
    return [item.kept(some_P) for item in items], (warning,)


@dataclass(frozen=True, kw_only=True)
class _Curve:
    mean_K: Floats
    wide_K: tuple[Floats, Floats]
    point_K: tuple[Floats, Floats]
    method: str
    warnings: tuple[str, ...]


def _curve(values: Sequence[Floats], config: MeasureConfig, clusters: Ints | None) -> _Curve:
    """Intervals of a mean, or of a paired difference, over one budget or many."""
    if values[0].shape[1] == 1:
        return _single([item[:, 0] for item in values], config, clusters)
    told: Any = {"level": config.level, "seed": config.seed, "draws": config.draws}
    told["clusters"] = clusters
    band = curve_band(values[0], **told) if len(values) == 1 else paired_band(*values, **told)
    return _Curve(
        mean_K=band.mean_K,
        wide_K=(band.low_K, band.high_K),
        point_K=(band.pointwise_low_K, band.pointwise_high_K),
        method=band.method,
        warnings=band.warnings,
    )


def _single(values: Sequence[Floats], config: MeasureConfig, clusters: Ints | None) -> _Curve:
    told: Any = {"level": config.level, "seed": config.seed, "draws": config.draws}
    told["clusters"] = clusters
    one = mean_interval(values[0], **told) if len(values) == 1 else paired_interval(*values, **told)
    ends = np.array([one.low]), np.array([one.high])
    return _Curve(
        mean_K=np.array([one.mean]), wide_K=ends, point_K=ends, method=one.method,
        warnings=one.warnings,
    )  # fmt: skip


def _measured(
    items: Sequence[PerPrompt], k: int, column: int, curve: _Curve | None, place: int,
    warnings: tuple[str, ...], config: MeasureConfig,
) -> Measured:  # fmt: skip
    scale = float(len(items[0].values_PK)) if items[0].total else 1.0
    aside_QK = items[0].aside_low_QK
    more = len(aside_QK) if items[0].total and aside_QK is not None else 0
    low, high = _bounds(items, column)
    common = Estimate(
        value=None,
        level=config.level,
        n_prompts=len(items[0].values_PK),
        n_graded=sum(item.n_graded for item in items),
        n_ungraded=sum(item.n_ungraded for item in items),
        bound_low=_scaled(low, scale + more),
        bound_high=_scaled(high, scale + more),
        warnings=warnings,
    )
    if curve is None:
        empty = replace(common, warnings=(*warnings, _gap(items, column)))
        return Measured(k, empty, empty)
    full = replace(
        common,
        value=_scaled(float(curve.mean_K[place]), scale),
        method=curve.method,
        warnings=(*warnings, *curve.warnings),
    )
    simultaneous, pointwise = (
        replace(full, low=_scaled(float(a[place]), scale), high=_scaled(float(b[place]), scale))
        for a, b in (curve.wide_K, curve.point_K)
    )
    return Measured(k, simultaneous, pointwise)


def _gap(items: Sequence[PerPrompt], column: int) -> str:
    if not len(items[0].values_PK):
        return f"no value: no prompt is left ({items[0].undefined})"
    gaps = max(int(np.isnan(item.values_PK[:, column]).sum()) for item in items)
    noun = "prompt" if gaps == 1 else "prompts"
    return f"no value: undefined for {gaps} {noun} ({items[0].undefined})"


def _bounds(items: Sequence[PerPrompt], column: int) -> tuple[float | None, float | None]:
    """Bounds of the mean; for a difference, the extremes of the two sides."""
    if not any(item.n_ungraded for item in items) or not len(items[0].values_PK):
        return None, None
    ends = [
        [
            _mean_with(item.values_PK if end is None else end, aside, column)
            for end, aside in (
                (item.low_PK, item.aside_low_QK),
                (item.high_PK, item.aside_high_QK),
            )
        ]
        for item in items
    ]
    if len(ends) == 1:
        return ends[0][0], ends[0][1]
    (before_low, before_high), (after_low, after_high) = ends
    return after_low - before_high, after_high - before_low


def _mean_with(values_PK: Floats, aside_QK: Floats | None, column: int) -> float:
    values_P = values_PK[:, column]
    return float(
        (values_P if aside_QK is None else np.append(values_P, aside_QK[:, column])).mean()
    )


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None or not math.isfinite(value) else value * scale
