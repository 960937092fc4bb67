"""Counts by source prompt and wording, and the figures that compare wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from rewardable.measure.arms import Arm
from rewardable.measure.counts import CORRECT, UNGRADED, Bools, Floats, Ints

SOURCE, KIND, ORIGINAL = "paraphrase_of", "paraphrase", "original"
"""Facts of a prompt: key of the prompt that it rewords, and how; how a source rewords itself."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Where prompts stand: source S, column W. -1 where a source has no such column.

    kind_SW: index into ``kinds``. prompts that reword nothing, or alone, are in no row.
    """

    prompt_SW: Ints
    kind_SW: Ints
    kinds: tuple[str, ...]

    @property
    def held_SW(self) -> Bools:  # noqa: N802
        """Where there is a wording."""
        return self.prompt_SW >= 0


@dataclass(frozen=True, kw_only=True, eq=False)
class WordingCounts:
    """Graded rollouts n, right ones c and ungraded ones u of wordings, even and odd ones apart.

    Shapes [S, W, 2]; where a source has no such wording all are 0.
    """

    held_SW: Bools
    n_SWH: Floats
    c_SWH: Floats
    u_SWH: Floats

    @property
    def rate_SW(self) -> Floats:  # noqa: N802
        """Share that is right; NaN without a graded rollout."""
        return _ratio(self.c_SWH.sum(2), self.n_SWH.sum(2))

    def completed(self, right: bool) -> WordingCounts:
        """Return the counts with every ungraded rollout right, or every one wrong."""
        more = self.u_SWH if right else 0.0
        return replace(self, n_SWH=self.n_SWH + self.u_SWH, c_SWH=self.c_SWH + more,
                       u_SWH=np.zeros_like(self.u_SWH))  # fmt: skip


def lay_out(keys: Sequence[str], facts: Mapping[str, Mapping[str, Any]]) -> Layout:
    """Arrange the prompts of sources that have at least two wordings, in the order of ``keys``."""
    rows: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        source = facts.get(key, {}).get(SOURCE)
        if source is not None:
            rows.setdefault(str(source), []).append(place)
    kept = [row for row in rows.values() if len(row) > 1]
    width = max(map(len, kept), default=0)
    named = {place: str(facts[keys[place]].get(KIND, "")) for row in kept for place in row}
    kinds = tuple(sorted(set(named.values()), key=lambda kind: (kind != ORIGINAL, kind)))
    prompt_SW = np.full((len(kept), width), -1, dtype=np.int64)
    kind_SW = np.full((len(kept), width), -1, dtype=np.int64)
    for s, row in enumerate(kept):
        prompt_SW[s, : len(row)] = row
        kind_SW[s, : len(row)] = [kinds.index(named[place]) for place in row]
    return Layout(prompt_SW=prompt_SW, kind_SW=kind_SW, kinds=kinds)


def count_wordings(arm: Arm, layout: Layout) -> WordingCounts:
    """Count an arm's rollouts by wording and by whether their index is even."""
    samples, outcome_R = arm.samples, arm.outcome_R
    place_R = 2 * samples.prompt_R.astype(np.int64) + samples.index_R % 2

    def by_wording(keep_R: npt.NDArray[Any]) -> Floats:
        count = np.bincount(place_R[keep_R], minlength=2 * arm.n_prompts).reshape(-1, 2)
        return np.where(layout.held_SW[:, :, None], count[layout.prompt_SW], 0).astype(np.float64)

    return WordingCounts(
        held_SW=layout.held_SW,
        n_SWH=by_wording(outcome_R != UNGRADED),
        c_SWH=by_wording(outcome_R == CORRECT),
        u_SWH=by_wording(outcome_R == UNGRADED),
    )


def mean_rate(counts: WordingCounts, chosen_SW: Bools | None = None) -> Floats:
    """Return the mean pass rate over the wordings (chosen) of each source; NaN where none is."""
    keep_SW = counts.held_SW if chosen_SW is None else chosen_SW
    return _ratio(np.where(keep_SW, counts.rate_SW, 0.0).sum(1), keep_SW.sum(1))


def agreement(counts: WordingCounts) -> Floats:
    """Return the chance that answers to two different wordings are both right or both wrong.

    Unbiased: the answers are drawn apart, so products of rates estimate products.
    """
    return _over_pairs(counts, [counts.rate_SW], min)


def agreement_bounds(counts: WordingCounts) -> tuple[Floats, Floats]:
    """Return bounds of the agreement, whatever the ungraded rollouts are."""
    ends = [counts.completed(right).rate_SW for right in (False, True)]
    return _over_pairs(counts, ends, min), _over_pairs(counts, ends, max)


def _over_pairs(counts: WordingCounts, ends: Sequence[Floats], best: Any) -> Floats:
    total_S, pairs_S = np.zeros(len(counts.held_SW)), np.zeros(len(counts.held_SW))
    for i, j in combinations(range(counts.held_SW.shape[1]), 2):
        both_S = counts.held_SW[:, i] & counts.held_SW[:, j]
        corners = [a[:, i] * b[:, j] + (1 - a[:, i]) * (1 - b[:, j]) for a in ends for b in ends]
        found_S = np.minimum.reduce(corners) if best is min else np.maximum.reduce(corners)
        total_S += np.where(both_S, found_S, 0.0)
        pairs_S += both_S
    return _ratio(total_S, pairs_S)


def same_agreement(counts: WordingCounts) -> Floats:
    """Return the chance that two answers to one wording agree, averaged over wordings.

    Unbiased; NaN where a wording has fewer than two graded rollouts.
    """
    n_SW, c_SW = counts.n_SWH.sum(2), counts.c_SWH.sum(2)
    return _mean_held(counts, _agreeing(c_SW, n_SW))


def same_bounds(counts: WordingCounts) -> tuple[Floats, Floats]:
    """Return bounds of :func:`same_agreement`, whatever the ungraded rollouts are."""
    c_SW, u_SW = counts.c_SWH.sum(2), counts.u_SWH.sum(2)
    n_SW = counts.n_SWH.sum(2) + u_SW
    least = _agreeing(np.clip(np.floor(n_SW / 2), c_SW, c_SW + u_SW), n_SW)
    most = np.maximum(_agreeing(c_SW, n_SW), _agreeing(c_SW + u_SW, n_SW))
    return _mean_held(counts, least), _mean_held(counts, most)


def _agreeing(c_SW: Floats, n_SW: Floats) -> Floats:
    return _ratio(c_SW * (c_SW - 1) + (n_SW - c_SW) * (n_SW - c_SW - 1), n_SW * (n_SW - 1))


def lowest_rate(counts: WordingCounts) -> Floats:
    """Return the lowest rate among the wordings; on average at most the worst wording's true one.

    The lowest of noisy rates is low also by chance.
    """
    rate_SW = np.where(counts.held_SW, counts.rate_SW, np.inf)
    return rate_SW.min(1)


def chosen_rate(counts: WordingCounts) -> Floats:
    """Return the rate, on one half, of the wording that is lowest on the other half.

    On average at least the worst wording's true rate: the choice may miss it, but its rate is
    measured on rollouts that had no part in the choice. Both ways round; ties are averaged.
    """
    rate_SWH = _ratio(counts.c_SWH, counts.n_SWH)
    rate_SWH = np.where(counts.held_SW[:, :, None], rate_SWH, np.inf)
    ways: list[Floats] = []
    for half in (0, 1):
        worst_SW = rate_SWH[:, :, half] <= rate_SWH[:, :, half].min(1, keepdims=True)
        judged_SW = np.where(worst_SW, rate_SWH[:, :, 1 - half], 0.0)
        unknown_S = np.isnan(np.where(counts.held_SW, rate_SWH.sum(2), 0.0)).any(1)
        ways.append(np.where(unknown_S, np.nan, _ratio(judged_SW.sum(1), worst_SW.sum(1))))
    return (ways[0] + ways[1]) / 2


def _mean_held(counts: WordingCounts, values_SW: Floats) -> Floats:
    kept_SW = np.where(counts.held_SW, values_SW, 0.0)
    return _ratio(kept_SW.sum(1), counts.held_SW.sum(1))


def _ratio(top: Any, bottom: Any) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(np.asarray(bottom) > 0, np.asarray(top) / np.asarray(bottom), np.nan)
