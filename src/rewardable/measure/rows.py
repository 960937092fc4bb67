"""Rows of tables: what the estimates of an arm or a pair are labelled with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.estimates import Measured, PerPrompt, difference_of, mean_of, measure
from rewardable.results import Estimate, Label, Row

RISE, FALL, NONE = "rise", "fall", "none"


def row(labels: Mapping[str, Label], estimate: Estimate, **more: Label) -> Row:
    """Build a row from common labels and its own."""
    return Row(labels={**labels, **more}, estimate=estimate)


def certified(estimate: Estimate) -> str:
    """Say whether the interval lies on one side of zero: rise, fall or none."""
    if estimate.value is None or not estimate.excludes_zero:
        return NONE
    return RISE if estimate.value > 0 else FALL


def arm_curve(
    arm: Arm, item: PerPrompt, ks: Sequence[int], config: MeasureConfig, **labels: Label
) -> list[Row]:
    """Rows of a metric of one arm over budgets, both bands."""
    return _curve_rows(arm.labels, measure([item], ks, config), labels)


def pair_curve(
    pair: Pair, items: Sequence[PerPrompt], ks: Sequence[int], config: MeasureConfig,
    **labels: Label,
) -> list[Row]:  # fmt: skip
    """Rows of the paired difference of a metric over budgets, both bands, with the call."""
    found = _curve_rows(pair.labels, measure(items, ks, config), labels)
    return [row(item.labels, item.estimate, certified=certified(item.estimate)) for item in found]


def _curve_rows(
    common: Mapping[str, Label], curve: Iterable[Measured], labels: Mapping[str, Label]
) -> list[Row]:
    return [
        row(common, estimate, **labels, k=point.k, band=band)
        for point in curve
        for band, estimate in point
    ]


def arm_row(arm: Arm, item: PerPrompt, config: MeasureConfig, **labels: Label) -> Row:
    """One row of a metric without a budget."""
    return row(arm.labels, mean_of(item, config), **labels)


def pair_row(pair: Pair, items: Sequence[PerPrompt], config: MeasureConfig, **labels: Label) -> Row:
    """One row of the paired difference of a metric without a budget, with the call."""
    before, after = items
    estimate = difference_of(before, after, config)
    return row(pair.labels, estimate, **labels, certified=certified(estimate))
