"""The tables of ``locate``, one function a method, from what was gathered."""

from __future__ import annotations

import numpy as np

from rewardable.locate.claims import claim, left_out, plain, row
from rewardable.locate.coverage_split import (
    SHARE,
    FamilyPool,
    PromptSample,
    access_share,
    split_coverage,
)
from rewardable.locate.drift import layer_drift
from rewardable.locate.entry_tables import forced_rows, split_rows
from rewardable.locate.forced import arm_counts, forced_counts
from rewardable.locate.gathered import Gathered, ratios_of
from rewardable.locate.interventions import (
    arm_rows,
    carrying_dose,
    dose_curve,
    dose_rows,
)
from rewardable.locate.phases import COMPUTATION, OPERANDS
from rewardable.locate.token_tables import entropy_table, likelihood_table
from rewardable.metrics import mean_interval
from rewardable.results import Label, Row, Table


def entries_table(g: Gathered) -> Table:
    """Return access and execution: the split of pass@1 and of coverage, and forced execution."""
    config, rows = g.look, list[Row]()
    forced = [forced_counts(g.results[name], g.openings, g.code) for name in g.names]
    for j in range(1, len(g.names)):
        told: dict[str, Label] = {**g.labels, "before": g.names[0], "after": g.names[j]}
        free, pair = (g.free(0), g.free(j)), (forced[0], forced[j])
        rows += split_rows(*free, pair, len(g.prompts), told, config.level)
        rows += _coverage_rows(g, j, told)
        rows += forced_rows(
            free, pair, len(g.prompts), told,
            low=config.low_access, seed=config.seed, level=config.level,
        )  # fmt: skip
    notes = (
        "pass@1 = sum over families of access (share that starts it) times execution (success "
        "among those); its change splits into both parts exactly. Low access: below "
        f"{config.low_access:g} in one half of the trained policy's samples; everything shown of "
        "it is measured on the other half or with the entry forced.",
        "Forced execution over access times execution of one family would be 1 over its access, an "
        "identity; compared here are policies on the same prefixes, and families of one policy.",
    )
    return Table(name="entries", title="Started or finished?", rows=tuple(rows), notes=notes)


def _coverage_rows(g: Gathered, j: int, told: dict[str, Label]) -> list[Row]:
    kept = [
        i
        for i, prompt in enumerate(g.prompts)
        if (prompt.facts.get("totals") or {}).get("solution")
    ]
    if not kept:
        return []
    sides = [[_prompt_sample(g, side, i) for i in kept] for side in (0, j)]
    enough = _with_enough(*sides)
    warn = left_out(len(enough), len(kept))
    kept = [kept[i] for i in enough]
    sides = [[side[i] for i in enough] for side in sides]
    k = g.look.coverage_k or min((one.n for side in sides for one in side), default=0) // 2
    if k < 1:
        return []
    totals = [int(g.prompts[i].facts["totals"]["solution"]) for i in kept]
    split = split_coverage(sides[0], sides[1], totals, k, seed=g.look.seed)
    graded = sum(one.n for side in sides for one in side)
    values = {
        "change of coverage": split.change_P,
        "access part of coverage": split.access_P,
        "execution part of coverage": split.execution_P,
    }
    stretched = float(split.stretched_P2x2.mean(axis=0).max())
    if stretched >= 0.05:
        warn = (*warn, f"{stretched:.0%} of some draws exceed their pool: biased")
    rows = [
        row(
            told,
            claim(
                mean_interval(value, level=g.look.level, bounds=(-1.0, 1.0)),
                n_prompts=len(kept),
                n_graded=graded,
                warnings=warn,
            ),
            metric=metric,
            k=k,
        )
        for metric, value in values.items()
    ]
    share = access_share(split.access_P, split.change_P, g.look.level)
    return [*rows, row(told, claim(share, n_prompts=len(kept), n_graded=graded), metric=SHARE, k=k)]


def _with_enough(before: list[PromptSample], after: list[PromptSample]) -> list[int]:
    """Return the prompts with at least half the rollouts that any has: few do not lower k."""
    fewest = [min(one.n, other.n) for one, other in zip(before, after, strict=True)]
    most = max(fewest, default=0)
    return [i for i, n in enumerate(fewest) if n and 2 * n >= most]


def _prompt_sample(g: Gathered, policy: int, prompt: int) -> PromptSample:
    rows = [one for one in g.rollouts[policy].rows if one.prompt == prompt]
    started: dict[int, int] = {}
    found: dict[int, dict[str, int]] = {}
    sizes: dict[int, int] = {}

    def add(family: int, solution: str | None) -> None:
        sizes[family] = sizes.get(family, 0) + 1
        if solution is not None:
            counts = found.setdefault(family, {})
            counts[solution] = counts.get(solution, 0) + 1

    bare = any(o.solution and not o.entry for p in g.rollouts for o in p.rows if o.prompt == prompt)
    for one in rows:
        if one.entry or bare:
            family = g.code[one.entry or ""]
            started[family] = started.get(family, 0) + 1
            add(family, one.solution)
    for entry, texts in g.openings[prompt].items():
        for text in texts:
            result = g.results[g.names[policy]].get((prompt, text))
            for solution in result.solution if result is not None else ():
                add(g.code[entry], solution)
    pools = {f: FamilyPool(size=size, found=found.get(f, {})) for f, size in sizes.items()}
    return PromptSample(n=len(rows), started=started, pools=pools)


def interventions_table(g: Gathered) -> Table:
    """Return forced arms and dose curves in both directions."""
    rows: list[Row] = []
    config, size = g.look, len(g.prompts)
    for name in g.names:
        arms = [arm_counts(arm, g.results[name], texts, size) for arm, texts in g.arms.items()]
        ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= config.dose_n]
        if len(arms) > 1:
            rows += arm_rows(name, arms, ks, g.labels, level=config.level, seed=config.seed)
    for before, after in g.pairs:
        rows += _dose_rows(g, before, after) + _dose_rows(g, after, before)
    notes = (
        "Arms: the same prompts behind an opening of each kind. Dose: the first tokens come from "
        "the other policy's own samples, the rest is free; a dose of its own openings is the "
        "control. The share of the gap is read against the free pass@1 of both policies.",
    )
    return Table(name="interventions", title="Giving openings", rows=tuple(rows), notes=notes)


def _dose_rows(g: Gathered, own: str, other: str) -> list[Row]:
    """Dose the policy ``own`` with openings of ``other``, and with its own as the control."""
    free = {name: _rates(g, g.names.index(name)) for name in (own, other)}
    rows: list[Row] = []
    for source in (other, own):
        counts = {
            tokens: arm_counts("", g.results[own], texts, len(g.prompts))
            for (name, tokens), texts in g.given.items()
            if name == source
        }
        keep = np.all([arm.n_P > 0 for arm in counts.values()], axis=0)
        keep = keep & ~np.isnan(free[own]) & ~np.isnan(free[other])
        if not counts or keep.sum() < 2:
            continue
        dosed = {tokens: arm.c_P[keep] / arm.n_P[keep] for tokens, arm in counts.items()}
        doses = dose_curve(free[own][keep], free[other][keep], dosed, level=g.look.level)
        told: dict[str, Label] = {**g.labels, "policy": own, "openings of": source}
        told["kind"] = "control" if source == own else "dose"
        rows += dose_rows(doses, told, int(keep.sum()), g.look.dose_n)
        carrying = carrying_dose(doses)
        if source == other:
            gap = mean_interval(
                (free[other] - free[own])[keep], level=g.look.level, bounds=(-1.0, 1.0)
            )
            rows.append(row(told, claim(gap, n_prompts=int(keep.sum())), metric="gap in pass@1"))
            value = float("nan") if carrying is None else float(carrying)
            rows.append(
                row(told, plain(value, method="first dose that closes half of the gap",
                                n_prompts=int(keep.sum())), metric="tokens that carry half")
            )  # fmt: skip
    return rows


def _rates(g: Gathered, policy: int) -> np.ndarray:
    """Return pass@1 by prompt; NaN for one without graded rollouts, which is no failure."""
    rollouts = g.rollouts[policy]
    n_P = np.bincount(rollouts.prompt_R, minlength=len(g.prompts))
    c_P = np.bincount(rollouts.prompt_R, rollouts.success_R, minlength=len(g.prompts))
    return np.where(n_P > 0, c_P / np.maximum(n_P, 1), np.nan)


def token_tables(g: Gathered) -> list[Table]:
    """Return the likelihood and entropy tables, as far as asked for."""
    found: list[Table] = []
    told, level = g.labels, g.look.level
    if "likelihood" in g.look.methods:
        found.append(likelihood_table(g.tokens, g.pairs, ratios_of(g), labels=told, level=level))
    if "entropy" in g.look.methods:
        own = {name: g.tokens[name] for name in g.names if name in g.tokens}
        first = next(iter(ratios_of(g)))
        phase = OPERANDS if first.startswith(OPERANDS) else COMPUTATION
        found.append(entropy_table(own, phase=phase, labels=told, level=level))
    return found


FEWEST_STATES = 3
"""Prompts that drift needs."""


def drift_table(g: Gathered) -> Table:
    """Return hidden-state drift by layer, at the end of the prompt and along the response."""
    rows: list[Row] = []
    for before, after in g.pairs:
        for place in ("end of prompt", "response"):
            if (before, place) not in g.hidden or (after, place) not in g.hidden:
                continue
            states = g.hidden[before, place], g.hidden[after, place]
            if len(states[0]) < FEWEST_STATES:
                continue
            for layer in layer_drift(*states, seed=g.look.seed, level=g.look.level):
                told: dict[str, Label] = {
                    **g.labels, "before": before, "after": after, "place": place,
                    "layer": layer.layer,
                }  # fmt: skip
                rows.append(
                    row(told, claim(layer.cosine, n_prompts=layer.n), metric="cosine distance")
                )
                rows.append(
                    row(told, claim(layer.norm_ratio, n_prompts=layer.n), metric="norm ratio")
                )
                chance = {
                    "cosine distance, other prompts": layer.cosine_noise,
                    "CKA": layer.cka,
                    "CKA, permuted pairs (95 %)": layer.cka_noise,
                }
                rows += [
                    row(told, plain(v, method="point value", n_prompts=layer.n), metric=m)
                    for m, v in chance.items()
                ]
    note = "Layer 0 is the embedding. One state a prompt; the response's is its mean over tokens."
    if not rows:
        note = f"Fewer than {FEWEST_STATES} prompts: no drift is given."
    return Table(name="drift", title="Hidden states", rows=tuple(rows), notes=(note,))
