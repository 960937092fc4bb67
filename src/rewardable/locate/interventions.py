"""What a given opening does: arms on the same prompts, and how many tokens carry a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.locate.claims import claim, plain, row
from rewardable.metrics import curve_band, paired_band, pass_at_k, ratio_interval
from rewardable.metrics.intervals import Band, Interval
from rewardable.results import Estimate, Label, Row

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Arm:
    """Graded rollouts of one policy under one opening: counts by prompt, shape [P]."""

    name: str
    n_P: Ints
    c_P: Ints


def arm_rows(
    policy: str, arms: Sequence[Arm], ks: Sequence[int], labels: dict[str, Label], *,
    level: float, seed: int,
) -> list[Row]:  # fmt: skip
    """Return pass@k of every arm, and each arm's difference from the first, with bands.

    All arms hold the same prompts; those that some arm has fewer than max(ks) rollouts of are
    left out.
    """
    keep = np.all([arm.n_P >= max(ks) for arm in arms], axis=0)
    if not keep.any():
        return [row(labels, plain(float("nan"), method="no prompt has all arms"), policy=policy)]
    values = [pass_at_k(arm.n_P[keep], arm.c_P[keep], list(ks)) for arm in arms]
    rows: list[Row] = []
    for arm, value_PK in zip(arms, values, strict=True):
        band = curve_band(value_PK, level=level, seed=seed)
        told = {**labels, "policy": policy, "opening": arm.name}
        rows += _curve(told, "best@k", band, ks, int(keep.sum()), int(arm.n_P[keep].sum()))
    for arm, value_PK in zip(arms[1:], values[1:], strict=True):
        band = paired_band(values[0], value_PK, level=level, seed=seed)
        told = {**labels, "policy": policy, "opening": f"{arm.name} minus {arms[0].name}"}
        rows += _curve(told, "effect on best@k", band, ks, int(keep.sum()), int(arm.n_P.sum()))
    return rows


def _curve(
    labels: dict[str, Label], metric: str, band: Band, ks: Sequence[int], n_prompts: int, n: int
) -> list[Row]:
    return [
        row(
            labels,
            Estimate(
                value=float(band.mean_K[j]),
                low=_known(band.low_K[j]),
                high=_known(band.high_K[j]),
                level=band.level,
                method=band.method,
                n_prompts=n_prompts,
                n_graded=n,
                warnings=band.warnings,
            ),
            metric=metric,
            k=int(k),
        )
        for j, k in enumerate(ks)
    ]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True, kw_only=True)
class Dose:
    """How much of a gap the first ``tokens`` tokens of the other policy's opening close.

    share: recovered part of the gap between the two free policies, 0 nothing, 1 all.
    """

    tokens: int
    value: Interval
    share: Interval


def dose_curve(
    from_P: Floats, to_P: Floats, dosed: Mapping[int, Floats], *, level: float
) -> list[Dose]:
    """Return the dose curve from policy ``from`` (no tokens given) towards policy ``to``.

    from_P, to_P: free success rates by prompt. dosed: tokens -> success rates by prompt of the
    first policy behind openings drawn from the second. Raises DataError for other prompts.
    """
    # the ratio of means needs a positive denominator; a falling gap is measured upside down
    sign = 1.0 if to_P.mean() >= from_P.mean() else -1.0
    gap_P = sign * (to_P - from_P)
    found: list[Dose] = []
    for tokens, value_P in sorted(dosed.items()):
        if value_P.shape != from_P.shape:
            raise DataError(f"dose {tokens}: {value_P.size} prompts, expected {from_P.size}.")
        share = ratio_interval(
            sign * (value_P - from_P), gap_P, level=level, bounds=(-1.0, 1.0), span=(-5.0, 5.0)
        )
        band = curve_band(value_P[:, None], level=level)
        value = Interval(
            mean=float(band.mean_K[0]), low=float(band.low_K[0]), high=float(band.high_K[0]),
            level=level, method=band.method, warnings=band.warnings,
        )  # fmt: skip
        found.append(Dose(tokens=tokens, value=value, share=share))
    return found


def carrying_dose(doses: Sequence[Dose], share: float = 0.5) -> int | None:
    """Return the fewest tokens that close at least ``share`` of the gap, None where none does.

    Read off the estimates; the table shows their intervals.
    """
    return next((dose.tokens for dose in doses if dose.share.mean >= share), None)


def dose_rows(
    doses: Sequence[Dose], labels: dict[str, Label], n_prompts: int, n_each: int
) -> list[Row]:
    """Return the rows of a dose curve."""
    rows: list[Row] = []
    for dose in doses:
        n = n_prompts * n_each
        told = {**labels, "tokens": dose.tokens}
        rows.append(row(told, claim(dose.value, n_prompts=n_prompts, n_graded=n), metric="pass@1"))
        rows.append(
            row(told, claim(dose.share, n_prompts=n_prompts, n_graded=n), metric="share of the gap")
        )
    return rows
