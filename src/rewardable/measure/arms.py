"""An arm: one policy under one sampling specification on one task, as arrays by prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rewardable.measure.counts import (
    CORRECT,
    UNGRADED,
    WRONG,
    Bools,
    Counts,
    Floats,
    Ints,
    no_counts,
)
from rewardable.measure.stopped import Stopped
from rewardable.metrics import LabelCounts, count_labels
from rewardable.store import Counts as StoreCounts
from rewardable.store import Samples, parts_at

CUT = 1
TEXT = "text"
"""The label kind of a rollout's whole text."""


_ROW_FIELDS = (
    "index_R",
    "outcome_R",
    "score_R",
    "length_R",
    "finish_R",
    "first_entropy_R",
    "mean_entropy_R",
    "text_R",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Arm:
    """One policy under one spec on one task. ``policy`` and ``spec`` are names for people.

    Two arms that are compared hold the same prompts in the same order. ``counts_only``: made
    from imported counts, so nothing is known of texts, lengths and labels.

    aside: counts of the prompts that every arm has rollouts of, but some arm none that is graded;
    they are in no value, only in bounds. n_outside, n_outside_ungraded: rollouts, and ungraded
    ones, of all prompts that ``samples`` leaves out. cluster_P: which prompts were made from one
    source problem, as numbers; None: every prompt is a source of its own. stopped: where prompts
    ended that were sampled under a stopping rule; ``samples`` are then their first rollouts.
    """

    task: str
    policy: str
    policy_key: str
    spec: str
    spec_key: str
    samples: Samples
    success_at: float | None = None
    counts_only: bool = False
    cluster_P: Ints | None = None
    stopped: Stopped | None = None
    aside: Counts = field(default_factory=no_counts)
    n_outside: int = 0
    n_outside_ungraded: int = 0

    @property
    def labels(self) -> dict[str, str]:
        """What every row about this arm says of itself."""
        return {"task": self.task, "policy": self.policy, "spec": self.spec}

    @property
    def n_prompts(self) -> int:
        """Number of prompts."""
        return len(self.samples.prompt_keys)

    @cached_property
    def outcome_R(self) -> npt.NDArray[np.int8]:  # noqa: N802
        """1 success, 0 none, -1 ungraded; by the verifier, or by ``success_at``."""
        if self.success_at is None:
            return self.samples.outcome_R
        score_R: Floats = self.samples.score_R
        passed_R = np.where(score_R >= self.success_at, CORRECT, WRONG).astype(np.int8)
        unknown_R = np.isnan(score_R) | (self.samples.outcome_R == UNGRADED)
        return np.where(unknown_R, np.int8(UNGRADED), passed_R)

    @cached_property
    def scores_R(self) -> Floats:  # noqa: N802
        """Scores of graded rollouts, the outcome where the verifier gave none; NaN ungraded."""
        outcome_R, score_R = self.outcome_R, self.samples.score_R
        filled_R = np.where(np.isnan(score_R), outcome_R.astype(np.float64), score_R)
        return np.where(outcome_R == UNGRADED, np.nan, filled_R)

    @cached_property
    def graded_scores(self) -> bool:
        """Whether the scores say more than the outcomes."""
        known_R = ~np.isnan(self.scores_R)
        return bool(np.any(self.scores_R[known_R] != (self.outcome_R[known_R] == CORRECT)))

    @property
    def cut_R(self) -> Bools:  # noqa: N802
        """Whether a rollout ended at the token limit."""
        return self.samples.finish_R == CUT

    @cached_property
    def counts(self) -> Counts:
        """Counts with truncated answers as the verifier judged them."""
        return count(self.samples.prompt_R, self.outcome_R, self.n_prompts)

    @cached_property
    def texts(self) -> LabelCounts:
        """How often each distinct text occurs, all rollouts."""
        return count_labels(self.samples.prompt_R, self.samples.text_R, self.n_prompts)

    @cached_property
    def rollouts_P(self) -> Ints:  # noqa: N802
        """Number of rollouts of each prompt, graded or not."""
        return np.bincount(self.samples.prompt_R, minlength=self.n_prompts).astype(np.int64)

    @property
    def drawn_P(self) -> Ints:  # noqa: N802
        """Number of rollouts that each prompt took in all."""
        return self.rollouts_P if self.stopped is None else self.stopped.rollouts_P

    def successes(self, kind: str) -> LabelCounts:
        """Count the labels of ``kind`` among successes; TEXT counts distinct texts."""
        if kind not in self._successes:
            self._successes[kind] = self._count_successes(kind)
        return self._successes[kind]

    @cached_property
    def _successes(self) -> dict[str, LabelCounts]:
        return {}

    def _count_successes(self, kind: str) -> LabelCounts:
        samples = self.samples
        none_R = np.full(len(samples.prompt_R), -1, dtype=np.int32)
        code_R = samples.text_R if kind == TEXT else samples.labels.get(kind, none_R)
        keep_R = (self.outcome_R == CORRECT) & ((code_R >= 0) | (kind == TEXT))
        return count_labels(samples.prompt_R[keep_R], code_R[keep_R], self.n_prompts)

    @property
    def n_graded(self) -> int:
        """Number of graded rollouts."""
        return int(self.counts.n_P.sum())

    @property
    def n_ungraded(self) -> int:
        """Number of ungraded rollouts."""
        return int(self.counts.u_P.sum())

    @property
    def all_rollouts(self) -> int:
        """Number of rollouts, those of prompts left out included."""
        return len(self.samples.prompt_R) + self.n_outside

    @property
    def all_ungraded(self) -> int:
        """Number of ungraded rollouts, those of prompts left out included."""
        return self.n_ungraded + self.n_outside_ungraded


@dataclass(frozen=True)
class Pair:
    """Two arms on the same prompts."""

    before: Arm
    after: Arm

    @property
    def labels(self) -> dict[str, str]:
        """What every row about this pair says of itself."""
        spec_before, spec_after = self.before.spec, self.after.spec
        both = spec_before if spec_before == spec_after else f"{spec_before} against {spec_after}"
        names = {"before": self.before.policy, "after": self.after.policy}
        specs = {"spec": both, "spec_before": spec_before, "spec_after": spec_after}
        return {"task": self.before.task, **names, **specs}

    @property
    def same_spec(self) -> bool:
        """Whether both were sampled in the same way."""
        return self.before.spec == self.after.spec


def count(prompt_R: npt.NDArray[np.int32], outcome_R: npt.NDArray[np.int8], size: int) -> Counts:
    """Count outcomes by prompt."""

    def number(keep_R: Bools) -> Ints:
        return np.bincount(prompt_R[keep_R], minlength=size).astype(np.int64)

    right = number(outcome_R == CORRECT)
    return Counts(right + number(outcome_R == WRONG), right, number(outcome_R == UNGRADED))


def restrict(samples: Samples, keys: Sequence[str]) -> Samples:
    """Return the rollouts of the prompts ``keys`` (a subset, in the samples' own order)."""
    if tuple(keys) == tuple(samples.prompt_keys):
        return samples
    place = {key: position for position, key in enumerate(keys)}
    new_P = np.array([place.get(key, -1) for key in samples.prompt_keys], dtype=np.int32)
    keep_R = new_P[samples.prompt_R] >= 0
    rows = {name: getattr(samples, name)[keep_R] for name in _ROW_FIELDS}
    return replace(
        samples,
        prompt_keys=tuple(keys),
        prompt_R=new_P[samples.prompt_R][keep_R],
        labels={kind: code_R[keep_R] for kind, code_R in samples.labels.items()},
        totals={kind: total_P[new_P >= 0] for kind, total_P in samples.totals.items()},
        parts=parts_at(samples.parts, keep_R),
        **rows,
    )


def samples_from_counts(counts: StoreCounts) -> Samples:
    """Lay imported counts out as rollouts of which only the verdict is known."""
    n_P, size = counts.n_P, len(counts.prompt_keys)
    prompt_R = np.repeat(np.arange(size, dtype=np.int32), n_P)
    starts_P = np.cumsum(n_P) - n_P
    index_R = (np.arange(len(prompt_R)) - starts_P[prompt_R]).astype(np.int32)
    nothing_R = np.full(len(prompt_R), np.nan)
    return Samples(
        prompt_keys=counts.prompt_keys,
        prompt_R=prompt_R,
        index_R=index_R,
        outcome_R=(index_R < counts.c_P[prompt_R]).astype(np.int8),
        score_R=nothing_R,
        length_R=np.full(len(prompt_R), -1, dtype=np.int32),
        finish_R=np.full(len(prompt_R), 3, dtype=np.int8),
        first_entropy_R=nothing_R,
        mean_entropy_R=nothing_R,
        text_R=np.zeros(len(prompt_R), dtype=np.int64),
        totals=counts.totals,
    )
