"""Numbers of one generation batch. NaN stands for "nothing to take it from" and is never logged."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from rewardable.records import Outcome
from rewardable.train.similarity import ngrams
from rewardable.train.taps import RolloutBatch

Numbers = dict[str, float]

TOLERANCE = 1e-6
"""Rewards of a group that differ by less, relative to the largest from 1 on, are equal."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PAID = {Outcome.CORRECT: 1.0, Outcome.WRONG: 0.0, Outcome.UNGRADED: None}


def raw_rewards(batch: RolloutBatch) -> tuple[float | None, ...]:
    """Return what the verdicts say by themselves: 1, 0, or None for UNGRADED."""
    return tuple(_PAID[row.verdict.outcome] for row in batch.shaped)


def reward_numbers(batch: RolloutBatch) -> Numbers:
    """Mean, spread and groups without variation, of verdicts and of what they were paid."""
    raw, shaped = raw_rewards(batch), _finite(batch.rewards)
    return {
        "reward/raw": _mean(raw),
        "reward/raw_std": _std(raw),
        "reward/shaped": _mean(shaped),
        "reward/shaped_std": _std(shaped),
        "groups/constant_raw": constant_groups(raw, batch.groups),
        "groups/constant": constant_groups(shaped, batch.groups),
        "ungraded": _share([value is None for value in raw]),
    }


def constant_groups(values: Sequence[float | None], groups: Sequence[Sequence[int]]) -> float:
    """Return the share of groups whose graded values are all equal up to rounding.

    Such a group teaches nothing. Groups without a graded row are left out.

    >>> constant_groups([0.3, 0.3, 0.3, None, 1.0, 0.0], [range(3), range(3, 6)])
    0.5
    """
    known = [[v for row in rows if (v := values[row]) is not None] for rows in groups]
    return _share([_equal(group) for group in known if group])


def _equal(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= TOLERANCE * max(1.0, *map(abs, values))


def length_numbers(batch: RolloutBatch) -> Numbers:
    """Lengths in tokens, the end token counted, and the share that was cut before one."""
    lengths = [len(row) for row in batch.token_ids]
    if not any(lengths):
        return {}
    low, middle, high = np.quantile(lengths, (0.1, 0.5, 0.9), method="inverted_cdf").tolist()
    return {
        "length/mean": float(np.mean(lengths)),
        "length/p10": float(low),
        "length/p50": float(middle),
        "length/p90": float(high),
        "length/max": float(max(lengths)),
        "truncated": _share(batch.truncated),
    }


def repetition_numbers(batch: RolloutBatch, order: int) -> Numbers:
    """Repetition of n-grams of tokens, means over answers and over groups.

    within: share of an answer's n-grams that it had before. across: share of a group's n-grams,
    each counted once an answer, that another of its answers had before. Shorter answers are left
    out.
    """
    kept = [row for row, ids in enumerate(batch.token_ids) if len(ids) >= order]
    if not kept:
        return {}
    rows = [np.array(batch.token_ids[row], dtype=np.int64) + 1 for row in kept]
    gram_N, place_N = ngrams(rows, order)
    all_R = np.bincount(place_N, minlength=len(kept))
    size = int(gram_N.max()) + 1
    once = np.unique(place_N * size + gram_N)
    distinct_R = np.bincount(once // size, minlength=len(kept))
    group_R = np.array(kept) // batch.group_size
    groups, group_R = np.unique(group_R, return_inverse=True)
    seen = np.unique(group_R[once // size] * size + once % size)
    distinct_G = np.bincount(seen // size, minlength=groups.size)
    told_G = np.bincount(group_R, weights=distinct_R, minlength=groups.size)
    return {
        f"repetition/within_{order}": float(np.mean(1.0 - distinct_R / all_R)),
        f"repetition/across_{order}": float(np.mean(1.0 - distinct_G / told_G)),
    }


def variety_numbers(batch: RolloutBatch, solution: str) -> Numbers:
    """Distinct texts and distinct solutions a group, and templates shared between prompts.

    solution: the label of CORRECT verdicts that names what was found; without it no number.
    template: how often answers to two different prompts are equal but for their numbers.
    """
    labels = [
        row.verdict.labels.get(solution) if right else None
        for row, right in zip(batch.shaped, batch.correct, strict=True)
    ]
    found = [len({labels[row] for row in rows} - {None}) for rows in batch.groups]
    outputs = [len({batch.texts[row] for row in rows}) for rows in batch.groups]
    return {
        "distinct/outputs": _mean(outputs),
        "distinct/solutions": _mean(found) if any(labels) else math.nan,
        "template": template_share(batch.texts, batch.prompt_keys),
    }


def template_share(texts: Sequence[str], keys: Sequence[str]) -> float:
    """Return the share of pairs of answers to different prompts that share their form.

    >>> template_share(["4*7=28", "9*12=108", "no"], ["a", "b", "b"])
    0.5
    """
    forms = [form(text) for text in texts]
    same = _pairs(Counter(forms)) - _pairs(Counter(zip(forms, keys, strict=True)))
    pairs = _pairs(Counter(["all"] * len(keys))) - _pairs(Counter(keys))
    return same / pairs if pairs else math.nan


def form(text: str) -> str:
    """Put ``#`` for every number and one blank for every gap, as wording is counted elsewhere."""
    return " ".join(_NUMBER.sub("#", text).split())


def _pairs(counts: Counter[str] | Counter[tuple[str, str]]) -> int:
    return sum(n * (n - 1) // 2 for n in counts.values())


def part_numbers(batch: RolloutBatch, format_part: str, steps_part: str) -> Numbers:
    """Format compliance, and right answers whose steps are not all there, where verdicts tell."""
    formats = [row.verdict.parts.get(format_part) for row in batch.shaped]
    steps = [
        row.verdict.parts.get(steps_part) if right else None
        for row, right in zip(batch.shaped, batch.correct, strict=True)
    ]
    return {
        "format": _mean(formats),
        "skips_steps": _share([value < 1.0 for value in steps if value is not None]),
    }


def logged(numbers: Mapping[str, float]) -> Numbers:
    """Return the numbers without those that are none."""
    return {name: value for name, value in numbers.items() if math.isfinite(value)}


def _finite(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Take a reward that is no number for none: it reaches the trainer as one."""
    return tuple(None if v is None or not math.isfinite(v) else v for v in values)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan


def _std(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return math.nan
    return 0.0 if _equal(known) else float(np.std(known, ddof=1))


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else math.nan
