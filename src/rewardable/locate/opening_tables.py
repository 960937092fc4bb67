"""Openings of the rollouts that were seen: the table, and openings to force."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from rewardable.locate.claims import claim, plain, row
from rewardable.locate.gathered import Openings as Drawn
from rewardable.locate.look import Look
from rewardable.locate.openings import (
    Openings,
    code_openings,
    opening_distance,
    top_movers,
)
from rewardable.locate.rollouts import PolicyRollouts, Seen
from rewardable.locate.rules import opening_class
from rewardable.records import Prompt
from rewardable.results import Label, Row, Table

Spell = Callable[[Sequence[int]], str]
"""The text of token ids."""


def openings_table(
    rollouts: Sequence[PolicyRollouts],
    prompts: Sequence[Prompt],
    spell: Spell | None,
    look: Look,
    labels: dict[str, Label],
) -> Table:
    """Compare every later policy with the base: first tokens and opening classes.

    ``spell=None``: nobody knows the tokens' text, so that the classes alone are compared.
    """
    rows: list[Row] = []
    kinds: dict[str, list[list[str]]] = {}
    if spell is not None:
        kinds[f"first {look.opening_tokens} tokens"] = [
            [spell(one.token_ids[: look.opening_tokens]) for one in policy.rows]
            for policy in rollouts
        ]
    kinds["class"] = [[class_of(one, prompts, look) for one in policy.rows] for policy in rollouts]
    for kind, texts in kinds.items():
        codes, names = code_openings(texts)
        sides = [_openings(one, code) for one, code in zip(rollouts, codes, strict=True)]
        for j in range(1, len(rollouts)):
            pair = {"before": rollouts[0].policy.name, "after": rollouts[j].policy.name}
            told: dict[str, Label] = {**labels, **pair, "kind": kind}
            rows += _distance_rows(sides[0], sides[j], len(prompts), told, look.seed, look.level)
            rows += _mover_rows(sides[0], sides[j], len(prompts), names, told, look.level)
    note = (
        "Distance: total variation between the openings of two policies, prompt by prompt, "
        "cross-fitted (0 on average for equal policies; a lower bound that tightens with n). "
        "Re-ranked: the share of it on openings that the base's own samples show."
    )
    return Table(name="openings", title="How answers begin", rows=tuple(rows), notes=(note,))


def class_of(one: Seen, prompts: Sequence[Prompt], look: Look) -> str:
    """Return the class of a rollout's opening."""
    return opening_class(one.head, prompts[one.prompt].text, look.opening_rules)


def _openings(policy: PolicyRollouts, code_R: npt.NDArray[np.int64]) -> Openings:
    return Openings(prompt_R=policy.prompt_R, opening_R=code_R, success_R=policy.success_R)


def _distance_rows(
    before: Openings, after: Openings, n_prompts: int, told: dict[str, Label], seed: int,
    level: float,
) -> list[Row]:  # fmt: skip
    found = opening_distance(before, after, n_prompts, seed=seed, level=level)
    n = before.prompt_R.size + after.prompt_R.size
    return [
        row(told, claim(found.value, n_prompts=found.n_prompts, n_graded=n), metric="distance"),
        row(
            told,
            plain(found.plug_in, method="plug-in, too large by chance", n_prompts=found.n_prompts),
            metric="distance, plug-in",
        ),
        row(
            told,
            claim(found.reranked, n_prompts=found.n_prompts, n_graded=n),
            metric="share of re-ranking",
        ),
    ]


def _mover_rows(
    before: Openings, after: Openings, n_prompts: int, names: Sequence[str],
    told: dict[str, Label], level: float,
) -> list[Row]:  # fmt: skip
    rows: list[Row] = []
    for mover in top_movers(before, after, n_prompts, level=level):
        estimate = claim(mover.change, n_prompts=n_prompts, n_graded=mover.n_before + mover.n_after)
        rows.append(
            row(
                told,
                estimate,
                metric="change of share",
                opening=names[mover.opening],
                share_before=round(mover.share_before, 4),
                share_after=round(mover.share_after, 4),
                pass_before=_rate(mover.pass_before),
                pass_after=_rate(mover.pass_after),
            )
        )
    return rows


def _rate(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 4)


def drawn_openings(
    policy: PolicyRollouts,
    spell: Spell,
    n_prompts: int,
    *,
    tokens: int,
    count: int,
    seed: int,
    only: Callable[[Seen], bool] | None = None,
) -> list[list[str]]:
    """Draw by prompt ``count`` openings of so many tokens from a policy's rollouts.

    An answer that ends within them is no opening to go on from and is passed over; so is one
    which ``only`` refuses. A prompt with fewer such rollouts gets fewer.
    """
    texts: list[list[str]] = [[] for _ in range(n_prompts)]
    for one in policy.rows:
        if len(one.token_ids) > tokens + 1 and (only is None or only(one)):
            texts[one.prompt].append(spell(one.token_ids[:tokens]))
    rng = random.Random(f"openings {seed} {policy.policy.key} {tokens}")
    return [sorted(rng.sample(one, min(count, len(one)))) for one in texts]


def largest_classes(
    rollouts: Sequence[PolicyRollouts], prompts: Sequence[Prompt], look: Look
) -> list[str]:
    """Return the two most frequent opening classes, of which each has at least a twentieth."""
    counts: dict[str, int] = {}
    for policy in rollouts:
        for one in policy.rows:
            kind = class_of(one, prompts, look)
            counts[kind] = counts.get(kind, 0) + 1
    total = sum(counts.values())
    often = [kind for kind, count in counts.items() if count >= total / 20]
    kept = sorted(often, key=lambda kind: -counts[kind])[:2]
    return kept if len(kept) == 2 else []


def class_openings(
    rollouts: Sequence[PolicyRollouts],
    prompts: Sequence[Prompt],
    kind: str,
    spell: Spell,
    look: Look,
) -> Drawn:
    """Draw openings of a class from all policies together, by prompt."""

    def of_kind(one: Seen) -> bool:
        return class_of(one, prompts, look) == kind

    drawn = [
        drawn_openings(
            policy, spell, len(prompts), tokens=look.opening_tokens, count=look.dose_n,
            seed=look.seed, only=of_kind,
        )
        for policy in rollouts
    ]  # fmt: skip
    rng = random.Random(f"class {kind} {look.seed}")
    pooled = [[text for one in drawn for text in one[i]] for i in range(len(prompts))]
    return [sorted(rng.sample(one, min(look.dose_n, len(one)))) for one in pooled]
