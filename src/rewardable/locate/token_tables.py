"""Tables of the token-level methods: likelihood, entropy, and the matrix across checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardable.locate.claims import claim, row
from rewardable.locate.entropy import (
    EXACT,
    SAMPLED,
    entropy_by_phase,
    entropy_by_position,
    sampled_entropy,
)
from rewardable.locate.likelihood import Tokens, by_phase, by_position, phase_ratio
from rewardable.locate.series import likelihood_matrix
from rewardable.results import Label, Row, Table

Ratios = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Name -> (phases over, phases under)."""

NOISE = 1e-3
"""Nats a token. Below this the change is what arithmetic in low precision makes."""


def likelihood_table(
    by_source: Mapping[str, Tokens], pairs: list[tuple[str, str]], ratios: Ratios,
    *, labels: dict[str, Label], level: float,
) -> Table:  # fmt: skip
    """Return the change of log-prob by source, pair, phase and position, and the ratio."""
    rows: list[Row] = []
    for source, tokens in by_source.items():
        for before, after in pairs:
            told = {**labels, "source": source, "before": before, "after": after}
            rows += _phase_rows(tokens, before, after, told, level)
            rows += _ratio_rows(tokens, before, after, ratios, told, level)
    note = (
        "The same texts under both policies, teacher-forced, temperature 1. The source biases the "
        "figures: a policy's own samples are those that it likes. Changes below "
        f"{NOISE:g} nats a token are no finding."
    )
    return Table(
        name="likelihood", title="Where the policy changed", rows=tuple(rows), notes=(note,)
    )


def _ratio_rows(
    tokens: Tokens,
    before: str,
    after: str,
    ratios: Ratios,
    told: dict[str, Label],
    level: float,
) -> list[Row]:
    rows: list[Row] = []
    for name, (over, under) in ratios.items():
        if set(over) | set(under) <= set(tokens.phases):
            found = phase_ratio(tokens, before, after, over, under, level=level)
            estimate = claim(found, n_prompts=len(set(tokens.prompt_S.tolist())))
            rows.append(row(told, estimate, metric="ratio", phase=name))
    return rows


def _phase_rows(
    tokens: Tokens, before: str, after: str, told: dict[str, Label], level: float
) -> list[Row]:
    rows: list[Row] = []
    for kind, cells in (
        ("phase", by_phase(tokens, before, after, level=level)),
        ("position", by_position(tokens, before, after, level=level)),
    ):
        for cell in cells:
            place: Label = cell.label if kind == "phase" else int(cell.label)
            for metric, found in (("|change| a token", cell.size), ("change a token", cell.change)):
                estimate = claim(found, n_prompts=cell.n_prompts)
                more: dict[str, Label] = {"metric": metric, kind: place, "tokens": cell.n_tokens}
                rows.append(row(told, estimate, **more))
    return rows


def entropy_table(
    own: Mapping[str, Tokens], *, phase: str, labels: dict[str, Label], level: float
) -> Table:
    """Return entropies of every policy on its own samples, by position and by phase."""
    rows: list[Row] = []
    for policy, tokens in own.items():
        told: dict[str, Label] = {**labels, "policy": policy, "how": EXACT}
        if policy not in tokens.entropy_T:
            rows += _sampled_rows(tokens, policy, labels, level)
            continue
        for name, found, n in entropy_by_phase(tokens, policy, level=level):
            rows.append(row(told, claim(found, n_prompts=n), metric="entropy a token", phase=name))
        for place, found, n in entropy_by_position(tokens, policy, level=level):
            rows.append(
                row(told, claim(found, n_prompts=n), metric="entropy a token", position=place)
            )
        if phase in tokens.phases:
            found = sampled_entropy(tokens, policy, phase, level=level)
            told = {**told, "how": SAMPLED}
            rows.append(row(told, claim(found, n_prompts=0), metric="entropy a token", phase=phase))
    note = (
        "Nats, of the full next-token distribution at temperature 1, on the policy's own samples."
    )
    without = [policy for policy, tokens in own.items() if policy not in tokens.entropy_T]
    if without:
        note += (
            f" The engine of {', '.join(without)} gives no entropies: they are estimated from the "
            "log-probs of drawn tokens."
        )
    return Table(name="entropy", title="Entropy along the answer", rows=tuple(rows), notes=(note,))


def _sampled_rows(tokens: Tokens, policy: str, labels: dict[str, Label], level: float) -> list[Row]:
    told: dict[str, Label] = {**labels, "policy": policy, "how": SAMPLED}
    n = len(set(tokens.prompt_S.tolist()))
    return [
        row(
            told,
            claim(sampled_entropy(tokens, policy, phase, level=level), n_prompts=n),
            metric="entropy a token",
            phase=phase,
        )
        for phase in tokens.phases
    ]


def matrix_rows(
    by_source: Mapping[str, Tokens], labels: dict[str, Label], level: float
) -> list[Row]:
    """Return mean log-prob a token of each source's texts under each policy."""
    scores = {
        (source, scorer): (tokens.prompt_S, _per_sequence(tokens, scorer))
        for source, tokens in by_source.items()
        for scorer in tokens.logp_T
    }
    return [
        row(
            labels,
            claim(found, n_prompts=len(set(by_source[source].prompt_S.tolist()))),
            metric="log-prob a token",
            source=source,
            scorer=scorer,
        )
        for (source, scorer), found in likelihood_matrix(scores, level=level).items()
    ]


def _per_sequence(tokens: Tokens, scorer: str):
    size = tokens.prompt_S.size
    count = np.bincount(tokens.sequence_T, minlength=size)
    return np.bincount(tokens.sequence_T, tokens.logp_T[scorer], minlength=size) / np.maximum(
        count, 1
    )
