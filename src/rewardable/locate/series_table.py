"""The table of ``series``: likelihood matrix, trajectory diversity, when families disappear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rewardable.locate.claims import claim, left_out, row
from rewardable.locate.families import FamilyCounts
from rewardable.locate.gathered import Gathered
from rewardable.locate.series import FamilyLife, alive_share, family_lives, pair_difference
from rewardable.locate.token_tables import matrix_rows
from rewardable.metrics import binomial_interval
from rewardable.results import Estimate, Label, Row, Table

MOST_FAMILIES = 12
"""Families of which the timeline is shown one by one."""

Started = dict[tuple[int, int], int]
"""(prompt, family) -> rollouts that start it."""


def series_table(g: Gathered) -> Table:
    """Return the likelihood matrix, trajectory diversity, and when families disappear."""
    rows = matrix_rows(g.tokens, g.labels, g.look.level) if g.tokens else []
    rows += _diversity_rows(g) + _alive_rows(g)
    counts = [g.free(j).counts(len(g.prompts)) for j in range(len(g.names))]
    size_JP = np.stack([one.n_P for one in counts])
    sampled = set(np.flatnonzero((size_JP > 0).all(axis=0)).tolist())
    started = [_started(one, sampled, g.code[""]) for one in counts]
    lives = family_lives(started, [one.n_P for one in counts], level=g.look.level)
    certified = [life for life in lives if life.certified]
    rows += _timeline_rows(g, lives, size_JP)
    notes = (
        f"{len(certified)} of {len(lives)} (prompt, family) pairs of {g.names[0]} fell certifiably "
        f"by {g.names[-1]} (exact intervals, Bonferroni over all pairs); up to "
        f"{MOST_FAMILIES} that fell or were seen no more are shown, certified and most started "
        "first, with the checkpoint at which each was last seen.",
        "Families still started: those that one half of the first policy's samples starts, looked "
        "for in the other half and in a half of every later policy's samples.",
    )
    return Table(name="series", title="Across checkpoints", rows=tuple(rows), notes=notes)


def _diversity_rows(g: Gathered) -> list[Row]:
    size, rows = len(g.prompts), list[Row]()
    texts = {text: i for i, text in enumerate(sorted({o.head for p in g.rollouts for o in p.rows}))}
    coded = [
        (one.prompt_R, np.array([texts[o.head] for o in one.rows], dtype=np.int64))
        for one in g.rollouts
    ]
    for a, first in enumerate(g.names):
        for b in range(a, len(g.names)):
            second = None if a == b else coded[b]
            found = pair_difference(coded[a], second, size, level=g.look.level)
            told: dict[str, Label] = {**g.labels, "source": first, "scorer": g.names[b]}
            rows.append(
                row(told, claim(found, n_prompts=size), metric="chance that two texts differ")
            )
    return rows


def _alive_rows(g: Gathered) -> list[Row]:
    """Return the share of the reference's families that every checkpoint still starts."""
    size, level = len(g.prompts), g.look.level
    free = [g.free(j) for j in range(len(g.names))]
    halves = [one.halves(g.look.seed) for one in free]
    known = free[0].counts(size, halves[0][0])
    others = [one.counts(size, half[1]) for one, half in zip(free, halves, strict=True)]
    sampled = set(np.flatnonzero(np.all([one.n_P > 0 for one in others], axis=0)).tolist())
    families = _started(known, sampled, g.code[""])
    if not families:
        return []
    kept = len({prompt for prompt, _ in families})
    lives = alive_share(
        families, [_started(one, sampled, g.code[""]) for one in others], size, level=level
    )
    return [
        row(
            {**g.labels, "policy": name},
            claim(found, n_prompts=kept, warnings=left_out(len(sampled), size)),
            metric="families still started",
        )
        for name, found in zip(g.names, lives, strict=True)
    ]


def _timeline_rows(g: Gathered, lives: Sequence[FamilyLife], size_JP: np.ndarray) -> list[Row]:
    """Return access by checkpoint of families that fell or are seen no more, certified first."""
    name_of = {code: name for name, code in g.code.items()}
    fell = [life for life in lives if life.certified or life.upper is not None]
    shown = sorted(fell, key=lambda life: (not life.certified, -life.counts[0]))[:MOST_FAMILIES]
    rows: list[Row] = []
    for life in shown:
        for j, (name, count) in enumerate(zip(g.names, life.counts, strict=True)):
            n = int(size_JP[j, life.prompt])
            low, high = (float(end[0]) for end in binomial_interval(n, [count], g.look.level))
            rows.append(
                row(
                    {**g.labels, "policy": name},
                    Estimate(
                        value=count / n, low=low, high=high, level=g.look.level,
                        method="exact binomial, this prompt alone", n_prompts=1, n_graded=n,
                    ),
                    metric="access of a family that fell",
                    family=name_of[life.family],
                    prompt=g.prompts[life.prompt].text[-60:],
                    last_seen=g.names[life.last_seen],
                    certified=life.certified,
                )
            )  # fmt: skip
    return rows


def _started(counts: FamilyCounts, sampled: set[int], bare: int) -> Started:
    """Return the starts of real families on the ``sampled`` prompts; ``bare`` is no family."""
    keys = zip(counts.prompt_L.tolist(), counts.family_L.tolist(), strict=True)
    return {
        key: started
        for key, started in zip(keys, counts.started_L.tolist(), strict=True)
        if key[0] in sampled and key[1] != bare
    }
