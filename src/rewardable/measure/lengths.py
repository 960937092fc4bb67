"""How long outputs are, right and wrong ones; how many are cut off, how many have an answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rewardable.measure.arms import Arm
from rewardable.measure.counts import CORRECT, UNGRADED, WRONG, Bools, Floats
from rewardable.measure.estimates import PerPrompt
from rewardable.metrics import row_quantiles

LENGTH, TRUNCATED, FORMAT = "length", "truncation rate", "format compliance"
QUANTILES = (0.1, 0.5, 0.9)
PART = "format"
"""The part of a verdict that says whether the answer stood where it had to."""
ANSWERS = ("answer", "entry")
"""Kinds of labels that a verdict has only where it found an answer."""
_OF = {"": None, "right": CORRECT, "wrong": WRONG}


def length_names() -> list[str]:
    """Return the metrics of :func:`length_items`, in order."""
    return [_name(q, of) for of in _OF for q in (*QUANTILES, None) if of or q]


def _name(q: float | None, of: str) -> str:
    what = "mean length" if q is None else f"length, {100 * q:g} % quantile"
    return f"{what}, {of} answers" if of else what


def length_items(arm: Arm, length_R: Floats) -> dict[tuple[str, int], PerPrompt]:
    """Return quantiles of the lengths (NaN: unknown), of all, right and wrong rollouts."""
    items: dict[tuple[str, int], PerPrompt] = {}
    for of, outcome in _OF.items():
        keep_R = ~np.isnan(length_R) & (True if outcome is None else arm.outcome_R == outcome)
        if keep_R.any():
            items |= {(_name(q, of), 0): _of_rows(arm, length_R, keep_R, q, of)
                      for q in (*QUANTILES, None) if of or q}  # fmt: skip
    return items


def _of_rows(arm: Arm, length_R: Floats, keep_R: Bools, q: float | None, of: str) -> PerPrompt:
    prompt_R, values_R = arm.samples.prompt_R[keep_R], length_R[keep_R]
    if q is None:
        sums = np.bincount(prompt_R, weights=values_R, minlength=arm.n_prompts)
        sizes = np.bincount(prompt_R, minlength=arm.n_prompts)
        values = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)
    else:
        values = row_quantiles(values_R, prompt_R, arm.n_prompts, q)
    return PerPrompt(
        values_PK=values[:, None],
        n_graded=int(keep_R.sum()),
        cluster_P=arm.cluster_P,
        undefined=f"no {of} answer of known length" if of else "length unknown",
    )


def truncation_R(arm: Arm) -> Floats:  # noqa: N802
    """1 where the token limit ended a rollout, 0 where an end did, NaN where nobody knows."""
    finish_R = arm.samples.finish_R
    return np.where(finish_R <= 1, (finish_R == 1).astype(np.float64), np.nan)


def format_compliance(arm: Arm) -> PerPrompt | None:
    """Estimate the share of graded rollouts with an answer in the form that was asked for.

    By the verdict's part, else by whether an answer was found; None where verdicts tell neither.
    """
    found_R = _formatted(arm)
    if found_R is None:
        return None
    graded_R = (arm.samples.outcome_R != UNGRADED) & ~np.isnan(found_R)
    prompt_R, size = arm.samples.prompt_R, arm.n_prompts
    n_P = np.bincount(prompt_R[graded_R], minlength=size)
    yes_P = np.bincount(prompt_R[graded_R], weights=found_R[graded_R], minlength=size)
    all_P = np.bincount(prompt_R, minlength=size)
    left_P = all_P - n_P
    values = np.where(n_P > 0, yes_P / np.maximum(n_P, 1), np.nan)
    total_P = np.maximum(all_P, 1)
    some = bool(left_P.any())
    return PerPrompt(
        values_PK=values[:, None],
        n_graded=int(n_P.sum()),
        n_ungraded=int(left_P.sum()),
        low_PK=(yes_P / total_P)[:, None] if some else None,
        high_PK=((yes_P + left_P) / total_P)[:, None] if some else None,
        cluster_P=arm.cluster_P,
        undefined="no graded rollout",
    )


def _formatted(arm: Arm) -> Floats | None:
    """Return 1 with, 0 without an answer in form; NaN unknown; None where nothing tells."""
    parts: Mapping[str, Floats] = arm.samples.parts
    if PART in parts:
        return parts[PART]
    kind = next((kind for kind in ANSWERS if kind in arm.samples.labels), None)
    if kind is None:
        return None
    answered_R = (arm.samples.labels[kind] >= 0) | (arm.samples.outcome_R == CORRECT)
    return answered_R.astype(np.float64)
