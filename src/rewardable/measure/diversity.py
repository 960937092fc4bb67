"""How varied the outputs of an arm are: texts, answers, wording, templates, written steps.

Figures of wording are read as they were stored at grading; no text is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rewardable.measure.arms import Arm, Pair
from rewardable.measure.config import MeasureConfig
from rewardable.measure.counts import CORRECT, Bools, Floats, Ints
from rewardable.measure.estimates import PerPrompt, estimate_of
from rewardable.measure.study import SCREEN, Study, TaskStudy
from rewardable.metrics import (
    GramCounts,
    Interval,
    adjusted_distinct_n_at_k,
    answer_entropy,
    count_labels,
    distinct_at_k,
    distinct_n_at_k,
    template_reuse,
    template_reuse_change,
)
from rewardable.records import WORDING_VERSION, Prompt
from rewardable.results import Estimate
from rewardable.store import WordingBook, Wordings

QUICK = 10
"""Rollouts of the quick collapse test (100 prompts x 10 generations)."""
VOCABULARY = 50_000
"""V of expectation-adjusted distinct-n: one number for all, so that figures compare."""
ORDERS = (1, 2, 3)
DISTINCT, ENTROPY, REPETITION = "distinct outputs", "answer entropy", "n-gram repetition"
SKIPPED = "right answers that skip steps"
FORM, OPENING = "template reuse, whole text", "template reuse, first 8 words"
ANSWER = "answer"
FAILED = 2

Items = dict[tuple[str, int], PerPrompt]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmWording:
    """Stored figures of an arm whose prompts all have current ones, on its prompts."""

    found: Wordings
    place_R: Ints
    n_P: Ints


def made(arm: Arm) -> Bools:
    """Return which rollouts have a text: those whose engine did not fail."""
    return arm.samples.finish_R != FAILED


def made_P(arm: Arm) -> Ints:  # noqa: N802
    """Return how many rollouts of each prompt have a text."""
    return np.bincount(arm.samples.prompt_R[made(arm)], minlength=arm.n_prompts).astype(np.int64)


def common_budgets(arms: Sequence[Arm]) -> list[int]:
    """Return the budgets at which texts compare: 10 or fewer, and all that every prompt has."""
    numbers = np.concatenate([made_P(arm) for arm in arms])
    least = int(numbers[numbers > 0].min(initial=np.iinfo(np.int64).max))
    return sorted({min(QUICK, least), least}) if (numbers > 0).any() else []


def distinct_texts(arm: Arm, k: int) -> PerPrompt:
    """Estimate the number of distinct texts within k rollouts; failed rollouts have no text."""
    keep_R, samples = made(arm), arm.samples
    texts = arm.texts
    if not keep_R.all():
        texts = count_labels(samples.prompt_R[keep_R], samples.text_R[keep_R], arm.n_prompts)
    values = distinct_at_k(texts, made_P(arm), [k])
    return _item(arm, values[:, 0], int(keep_R.sum()), f"fewer than {k} texts")


def entropy_of_answers(arm: Arm) -> PerPrompt | None:
    """Estimate the entropy of the extracted answers; None where none is known."""
    code_R = arm.samples.labels.get(ANSWER)
    if code_R is None:
        return None
    answers = count_labels(arm.samples.prompt_R, code_R, arm.n_prompts)
    values = answer_entropy(answers, arm.n_prompts)
    return _item(arm, values, int((code_R >= 0).sum()), "no answer was extracted")


def stored_wording(study: Study, task: TaskStudy, arm: Arm, book: WordingBook) -> ArmWording | None:
    """Return the stored figures of the arm; None unless every prompt has current ones."""
    if arm.counts_only:
        return None
    rule = study.config.stopping if task.role != SCREEN else None
    keys = arm.samples.prompt_keys
    n_rows = dict(zip(keys, arm.rollouts_P.tolist(), strict=True))
    found = book.read(
        arm.policy_key, arm.spec_key, n_rows, WORDING_VERSION, rule.first if rule else 0
    )
    if found.prompt_keys != tuple(keys):
        return None
    return ArmWording(found=found, place_R=_places(arm, found), n_P=found.n_P)


def _places(arm: Arm, found: Wordings) -> Ints:
    """Return where each rollout of the arm stands among the stored texts; -1 for nowhere."""
    samples = arm.samples
    asked = (samples.prompt_R.astype(np.int64) << 32) | samples.index_R
    held = (found.prompt_R << 32) | found.index_R
    if not held.size:
        return np.full(asked.size, -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(held, asked), held.size - 1)
    return np.where(held[place] == asked, place, -1)


def wording_items(arm: Arm, wording: ArmWording, k: int, prompts: Mapping[str, Prompt]) -> Items:
    """Return distinct-n, its adjusted form, repetition and skipped steps of an arm."""
    items: Items = {}
    for order in ORDERS:
        grams = _grams(wording.found, order)
        short = f"no text of {order} words, or fewer than {k} texts"
        told = (arm, int(wording.n_P.sum()), short)
        items[f"distinct-{order}", k] = _told(told, distinct_n_at_k(grams, wording.n_P, k))
        adjusted = adjusted_distinct_n_at_k(grams, wording.n_P, k, vocabulary=VOCABULARY)
        items[f"adjusted distinct-{order}", k] = _told(told, adjusted)
    repetition_R = wording.found.repetition_R
    known_R = ~np.isnan(repetition_R)
    means = _means(wording.found.prompt_R[known_R], repetition_R[known_R], arm.n_prompts)
    items[REPETITION, 0] = _item(arm, means, int(known_R.sum()), "no text of 4 words")
    skipped = skipped_steps(arm, wording, prompts)
    if skipped is not None:
        items[SKIPPED, 0] = skipped
    return items


def skipped_steps(arm: Arm, wording: ArmWording, prompts: Mapping[str, Prompt]) -> PerPrompt | None:
    """Estimate the share of right answers with fewer written calculations than are needed.

    None where the prompts do not tell how many are.
    """
    needed_P = np.array([steps_needed(prompts[key]) for key in arm.samples.prompt_keys])
    prompt_R = arm.samples.prompt_R.astype(np.int64)
    right_R = (arm.outcome_R == CORRECT) & (wording.place_R >= 0) & (needed_P[prompt_R] > 0)
    if not right_R.any():
        return None
    written = wording.found.steps_R[wording.place_R[right_R]]
    fewer = (written < needed_P[prompt_R[right_R]]).astype(np.float64)
    means = _means(prompt_R[right_R], fewer, arm.n_prompts)
    return _item(arm, means, int(right_R.sum()), "no right answer")


def steps_needed(prompt: Prompt) -> int:
    """Return how many calculations of two values an answer takes; 0 unknown.

    The fact ``steps`` says it; where every one of the fact ``numbers`` has to be used, it is one
    fewer than those.
    """
    steps, numbers = prompt.facts.get("steps"), prompt.facts.get("numbers")
    if isinstance(steps, int):
        return steps
    return len(numbers) - 1 if isinstance(numbers, list | tuple) and len(numbers) > 1 else 0


def reuse_of(arm: Arm, wording: ArmWording, codes: str, config: MeasureConfig) -> Estimate:
    """Estimate how often outputs to two prompts follow one template."""
    rows = _templates(wording, codes)
    return _reuse(
        lambda: template_reuse(
            *rows, arm.n_prompts, level=config.level, clusters=arm.cluster_P
        ),
        (arm,), int(wording.n_P.sum()), config,
    )  # fmt: skip


def reuse_change(
    pair: Pair, wordings: tuple[ArmWording, ArmWording], codes: str, config: MeasureConfig
) -> Estimate:
    """Estimate the change of template reuse."""
    before, after = (_templates(wording, codes) for wording in wordings)
    size = sum(int(wording.n_P.sum()) for wording in wordings)
    arm = pair.before
    return _reuse(
        lambda: template_reuse_change(
            before, after, arm.n_prompts, level=config.level, clusters=arm.cluster_P
        ),
        (pair.before, pair.after), size, config,
    )  # fmt: skip


def _reuse(
    make: Callable[[], Interval], arms: Sequence[Arm], size: int, config: MeasureConfig
) -> Estimate:
    used_P = np.all([made_P(arm) > 0 for arm in arms], axis=0)
    if int(used_P.sum()) < 2:
        why = "template reuse needs two prompts with texts"
        return Estimate(value=None, level=config.level, n_graded=size, warnings=(why,))
    found = estimate_of(make(), arms)
    warnings = tuple(text for text in found.warnings if "ungraded" not in text)
    return replace(found, n_prompts=int(used_P.sum()), n_graded=size, n_ungraded=0,
                   warnings=warnings)  # fmt: skip


def _templates(wording: ArmWording, codes: str) -> tuple[Ints, Ints]:
    found = wording.found
    raw_R = found.form_R if codes == FORM else found.opening_R
    return np.unique(raw_R, return_inverse=True)[1].reshape(-1), found.prompt_R


def _grams(found: Wordings, order: int) -> GramCounts:
    mine_S = found.order_S == order
    return GramCounts(
        prompt_S=found.prompt_S[mine_S],
        seen_S=found.seen_S[mine_S],
        number_S=found.number_S[mine_S],
        total_P=found.total_PO[:, order - 1],
    )


def _means(prompt_R: Ints, values_R: Floats, size: int) -> Floats:
    sums = np.bincount(prompt_R, weights=values_R, minlength=size)
    sizes = np.bincount(prompt_R, minlength=size)
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan)


def _told(told: tuple[Arm, int, str], values: Floats) -> PerPrompt:
    arm, size, undefined = told
    return _item(arm, values, size, undefined)


def _item(arm: Arm, values_P: Floats, size: int, undefined: str) -> PerPrompt:
    return PerPrompt(
        values_PK=np.asarray(values_P, dtype=np.float64)[:, None],
        n_graded=size,
        cluster_P=arm.cluster_P,
        undefined=undefined,
    )
