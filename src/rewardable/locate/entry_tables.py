"""Access and execution by entry family: from free and forced counts to a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.errors import DataError
from rewardable.locate.claims import claim, left_out, plain, row
from rewardable.locate.families import FamilyCounts, align, count_families, split_pass_at_1
from rewardable.metrics import mean_interval
from rewardable.results import Label, Row

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Free:
    """R graded free rollouts of one policy: prompt, entry family (-1: none), success."""

    prompt_R: Ints
    family_R: Ints
    success_R: Bools

    def counts(self, n_prompts: int, keep_R: Bools | None = None) -> FamilyCounts:
        """Count starts and successes of all rollouts or of some."""
        chosen = slice(None) if keep_R is None else keep_R
        return count_families(
            self.prompt_R[chosen], self.family_R[chosen], self.success_R[chosen], n_prompts
        )

    def halves(self, seed: int) -> tuple[Bools, Bools]:
        """Return two masks: a random half of each prompt's rollouts, and the rest."""
        mixed = np.random.default_rng(seed).permutation(self.prompt_R.size)
        order = mixed[np.argsort(self.prompt_R[mixed], kind="stable")]
        sizes = np.bincount(self.prompt_R)
        starts = np.cumsum(sizes) - sizes
        rank = np.arange(order.size) - starts[self.prompt_R[order]]
        first = np.zeros(order.size, dtype=bool)
        first[order[rank < sizes[self.prompt_R[order]] // 2]] = True
        return first, ~first


@dataclass(frozen=True, kw_only=True, eq=False)
class Forced:
    """Counts with the entry forced: one entry per (prompt, family)."""

    prompt_L: Ints
    family_L: Ints
    n_L: Ints
    c_L: Ints

    @property
    def rate(self) -> dict[tuple[int, int], float]:
        """(prompt, family) -> share of success."""
        keys = zip(self.prompt_L.tolist(), self.family_L.tolist(), strict=True)
        shares = (self.c_L / np.maximum(self.n_L, 1)).tolist()
        return {k: s for k, s, n in zip(keys, shares, self.n_L.tolist(), strict=True) if n}

    @property
    def size(self) -> dict[tuple[int, int], int]:
        """(prompt, family) -> graded rollouts."""
        keys = zip(self.prompt_L.tolist(), self.family_L.tolist(), strict=True)
        return dict(zip(keys, self.n_L.tolist(), strict=True))


def split_rows(
    before: Free,
    after: Free,
    forced: tuple[Forced, Forced] | None,
    n_prompts: int,
    labels: dict[str, Label],
    level: float,
) -> list[Row]:
    """Return pass@1's change, its access and its execution part, with and without forcing.

    On prompts with graded rollouts of both policies. DataError where there is none.
    """
    first, second = align([before.counts(n_prompts), after.counts(n_prompts)])
    seen_P = (first.n_P > 0) & (second.n_P > 0)
    if not seen_P.any():
        raise DataError("no prompt has graded rollouts of both policies: nothing to compare.")
    kept = int(seen_P.sum())
    split = split_pass_at_1(first, second)
    parts = {
        "change of pass@1": split.change_P,
        "access part": split.access_P,
        "execution part": split.execution_P,
        "access part, by families that one side never starts": split.borrowed_P,
    }
    if forced is not None:
        told = split_pass_at_1(first, second, forced=_on_pairs(first, forced))
        parts["access part, unseen execution forced"] = told.access_P
        parts["execution part, unseen execution forced"] = told.execution_P
    return [
        row(
            labels,
            claim(
                mean_interval(values[seen_P], level=level, bounds=(-1.0, 1.0)),
                n_prompts=kept,
                n_graded=int((first.n_P + second.n_P)[seen_P].sum()),
                warnings=left_out(kept, n_prompts),
            ),
            metric=metric,
        )
        for metric, values in parts.items()
    ]


def _on_pairs(counts: FamilyCounts, forced: tuple[Forced, Forced]) -> tuple[Floats, Floats]:
    keys = list(zip(counts.prompt_L.tolist(), counts.family_L.tolist(), strict=True))
    first, second = (np.array([one.rate.get(key, np.nan) for key in keys]) for one in forced)
    return first, second


def forced_rows(
    free: tuple[Free, Free],
    forced: tuple[Forced, Forced],
    n_prompts: int,
    labels: dict[str, Label],
    *,
    low: float,
    seed: int,
    level: float,
) -> list[Row]:
    """Return forced execution, trained against base on the same prefixes, low access and high.

    A family is of low access when less than ``low`` of the first half of the trained policy's
    rollouts start it; access and spontaneous execution are measured on the other half. Prompts
    with fewer than 2 rollouts of the trained policy are left out. No row where no family was
    forced under both policies.
    """
    enough_P = free[1].counts(n_prompts).n_P >= 2
    pairs = [pair for pair in _shared(forced) if enough_P[pair[0]]]
    if not pairs:
        return []
    halves = free[1].halves(seed)
    chosen, measured = (_access(free[1].counts(n_prompts, half)) for half in halves)
    is_low = np.array([chosen.get(pair, 0.0) < low for pair in pairs])
    rates = [np.array([one.rate[pair] for pair in pairs]) for one in forced]
    drawn = [np.array([one.size[pair] for pair in pairs]) for one in forced]
    sizes = {
        "forced execution, before": drawn[0],
        "forced execution, after": drawn[1],
        "change of forced execution": drawn[0] + drawn[1],
    }
    access = np.array([measured.get(pair, 0.0) for pair in pairs])
    prompt = np.array([pair[0] for pair in pairs])
    rows: list[Row] = []
    for name, keep in (("low", is_low), ("high", ~is_low), ("all", np.ones_like(is_low))):
        told = {**labels, "access": name}
        values = {
            "forced execution, before": rates[0],
            "forced execution, after": rates[1],
            "change of forced execution": rates[1] - rates[0],
            "access, after (other half)": access,
        }
        rows += [
            _family_row(told, metric, value, prompt, keep, n_prompts, level, sizes.get(metric))
            for metric, value in values.items()
        ]
    rows += _contrast_rows(rates, prompt, is_low, n_prompts, labels, level)
    return [*rows, *_spontaneous_rows(free, forced, n_prompts, labels, level)]


def _contrast_rows(
    rates: Sequence[Floats], prompt_L: Ints, low_L: Bools, n_prompts: int,
    labels: dict[str, Label], level: float,
) -> list[Row]:  # fmt: skip
    """Return forced execution of low access minus high access, on prompts that have both."""
    told = {**labels, "access": "low minus high"}
    rows: list[Row] = []
    for side, rate_L in zip(("before", "after"), rates, strict=True):
        low_P, high_P = (_mean_P(rate_L, prompt_L, keep, n_prompts) for keep in (low_L, ~low_L))
        gap_P = (low_P - high_P)[~np.isnan(low_P - high_P)]
        if gap_P.size:
            found = mean_interval(gap_P, level=level, bounds=(-1.0, 1.0))
            metric = f"forced execution, {side}"
            rows.append(row(told, claim(found, n_prompts=gap_P.size), metric=metric))
    return rows


def _spontaneous_rows(
    free: tuple[Free, Free],
    forced: tuple[Forced, Forced],
    n_prompts: int,
    labels: dict[str, Label],
    level: float,
) -> list[Row]:
    """Return forced minus spontaneous execution, on families that the policy itself starts."""
    rows: list[Row] = []
    for side, one, told in zip(("before", "after"), free, forced, strict=True):
        counts, rate = one.counts(n_prompts), told.rate
        keys = list(zip(counts.prompt_L.tolist(), counts.family_L.tolist(), strict=True))
        gap = np.array([rate.get(key, np.nan) for key in keys]) - counts.execution_L
        keep = ~np.isnan(gap)
        metric = f"forced minus spontaneous execution, {side}"
        rows.append(
            _family_row(
                {**labels, "access": "started"}, metric, gap, counts.prompt_L, keep, n_prompts,
                level,
            )
        )  # fmt: skip
    return rows


def _access(counts: FamilyCounts) -> dict[tuple[int, int], float]:
    keys = zip(counts.prompt_L.tolist(), counts.family_L.tolist(), strict=True)
    return dict(zip(keys, counts.access_L.tolist(), strict=True))


def _shared(forced: tuple[Forced, Forced]) -> list[tuple[int, int]]:
    first, second = (one.rate for one in forced)
    return sorted(first.keys() & second.keys())


def _family_row(
    labels: dict[str, Label], metric: str, value_L: Floats, prompt_L: Ints, keep_L: Bools,
    n_prompts: int, level: float, size_L: Ints | None = None,
) -> Row:  # fmt: skip
    """Average over the families of a prompt, then over prompts; ``size_L``: graded rollouts."""
    mean_P = _mean_P(value_L, prompt_L, keep_L, n_prompts)
    mean_P = mean_P[~np.isnan(mean_P)]
    if mean_P.size == 0:
        return row(labels, plain(float("nan"), method="no such family"), metric=metric)
    signed = "change" in metric or "minus" in metric
    bounds = (-1.0, 1.0) if signed else (0.0, 1.0)
    found = mean_interval(mean_P, level=level, bounds=bounds)
    families = int(keep_L.sum())
    graded = 0 if size_L is None else int(size_L[keep_L].sum())
    estimate = claim(found, n_prompts=mean_P.size, n_graded=graded)
    return row(labels, estimate, metric=metric, families=families)


def _mean_P(value_L: Floats, prompt_L: Ints, keep_L: Bools, n_prompts: int) -> Floats:  # noqa: N802
    """Return the mean over the kept families of each prompt; NaN where it has none."""
    count_P = np.bincount(prompt_L[keep_L], minlength=n_prompts)
    total_P = np.bincount(prompt_L[keep_L], value_L[keep_L], minlength=n_prompts)
    with np.errstate(invalid="ignore"):
        return np.where(count_P > 0, total_P / np.maximum(count_P, 1), np.nan)
