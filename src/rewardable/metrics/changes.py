"""What became of each prompt between two policies, with the false-discovery rate controlled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardable.errors import DataError
from rewardable.metrics.bounds import binomial_interval
from rewardable.metrics.checks import Bools, Floats, Ints, counts, level_alpha, refuse
from rewardable.metrics.designs import benjamini_hochberg, fixed_rule
from rewardable.metrics.discovery import discrete_fdr
from rewardable.metrics.exact import law_of_each, p_values
from rewardable.metrics.pairs import (
    check_pairs,
    design_p_values,
    design_power,
    design_smallest_loss,
    pair_interval,
)
from rewardable.metrics.power import detection_power, smallest_certified_loss
from rewardable.metrics.stopping import StoppingRule

CALLS = ("lost", "reduced", "gained", "raised", "kept", "absent", "undecided")


@dataclass(frozen=True, kw_only=True, eq=False)
class Transitions:
    """The call of every prompt, with its evidence.

    calls: per prompt one of lost, reduced, gained, raised, kept, absent, undecided.
    p_P: two-sided exact p-values. q_P: adjusted; a change is called where q <= 1 - level.
    low_P, high_P: interval of p_after - p_before of each prompt on its own.
    absent_bound_P: what "0 before and 0 after" still allows for the larger of both; NaN elsewhere.
    threshold: the p-value at which a prompt was (or would have been) called here.
    power: chance that a fall from 0.1 to 0 is called at this threshold, at the median n.
    smallest_loss: smallest p before whose fall to 0 is called with chance 0.8; NaN if none is.
    """

    calls: tuple[str, ...]
    p_P: NDArray[np.float64]
    q_P: NDArray[np.float64]
    low_P: NDArray[np.float64]
    high_P: NDArray[np.float64]
    absent_bound_P: NDArray[np.float64]
    level: float
    threshold: float
    power: float
    smallest_loss: float
    method: str
    notes: tuple[str, ...]

    def count(self, call: str) -> int:
        """Return how many prompts got this call."""
        return self.calls.count(call)


def transitions(
    n_before_P: ArrayLike,
    c_before_P: ArrayLike,
    n_after_P: ArrayLike,
    c_after_P: ArrayLike,
    *,
    level: float = 0.95,
    rule_before: StoppingRule | None = None,
    rule_after: StoppingRule | None = None,
) -> Transitions:
    """Call every prompt lost, reduced, gained, raised, kept, absent or undecided.

    Parameters
    ----------
    n_before_P, c_before_P: graded rollouts and successes of the first policy, shape [P].
    n_after_P, c_after_P: the same of the second policy, row i about the same prompt.
    level: 1 - level is the false-discovery rate of the called changes.
    rule_before, rule_after: how sampling was stopped; None means fixed n. Where both are one rule
        that gives up, the counts are those of the pair: a prompt that one policy gave up while the
        other was late (see :class:`StoppingRule`) was sampled on there. With a rule on one side,
        the other side must have one n for all prompts.

    Returns
    -------
    Transitions: calls, p-values, adjusted p-values, intervals, and the power that this data had.

    Raises
    ------
    DataError: unusable counts or vectors of different length; names the rows. A prompt with no
        graded rollout in one policy is refused: it can have no transition.

    What it measures
    ----------------
    Which prompts lost their successes, with at most 1 - level of the calls expected to be false.

    Estimand and assumptions
    ------------------------
    Per prompt, whether p changed. *lost*: successes before, none after, significant; *reduced*:
    a significant fall with successes left; *gained* and *raised* likewise upwards; *kept*:
    successes in both and no significant change; *absent*: none in both; *undecided*: the rest
    (successes on one side alone, not significant). Rollouts independent, n fixed before
    sampling, prompts tested independently.

    When it misleads
    ----------------
    "None called" is no proof of safety: read ``power``. At n = 64 per policy a fall from 0.1 to
    0 is called in about a third of the cases. "Kept" is no proof of equality, "absent" allows a
    probability up to ``absent_bound_P``. The intervals are per prompt, not adjusted for selection.

    Example
    -------
    >>> found = transitions([64] * 4, [20, 30, 0, 1], [64] * 4, [0, 31, 0, 0])
    >>> found.calls
    ('lost', 'kept', 'absent', 'undecided')
    >>> round(float(found.absent_bound_P[2]), 3)
    0.056

    Source
    ------
    Fisher's exact test with the discrete step-up procedure of Doehler, Durand and Roquain 2018.
    Under stopping rules an unconditional exact likelihood-ratio test with the procedure of
    Benjamini and Hochberg 1995.
    """
    before = counts(n_before_P, c_before_P, ("n_before", "c_before"))
    after = counts(n_after_P, c_after_P, ("n_after", "c_after"))
    if before[0].shape != after[0].shape:
        raise DataError(
            f"{before[0].size} prompts before, {after[0].size} after; pair them by prompt key."
        )
    refuse(before[0] == 0, "n_before", before[0], ">= 1: leave prompts without rollouts out")
    refuse(after[0] == 0, "n_after", after[0], ">= 1: leave prompts without rollouts out")
    alpha = level_alpha(level)
    if rule_before is None and rule_after is None:
        evidence = _fixed_evidence(before, after, level)
    else:
        rules = _rules(rule_before, rule_after, before[0], after[0])
        evidence = _stopped_evidence(rules, before, after, level)
    return Transitions(
        calls=_calls(before, after, evidence.q_P <= alpha),
        p_P=evidence.p_P,
        q_P=evidence.q_P,
        low_P=evidence.low_P,
        high_P=evidence.high_P,
        absent_bound_P=_absent_bound(before, after, level),
        level=level,
        threshold=evidence.threshold,
        power=evidence.power,
        smallest_loss=evidence.smallest_loss,
        method=evidence.method,
        notes=_notes(evidence),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Evidence:
    p_P: Floats
    q_P: Floats
    low_P: Floats
    high_P: Floats
    threshold: float
    n: int
    power: float
    smallest_loss: float
    method: str


def _fixed_evidence(before: tuple[Ints, Ints], after: tuple[Ints, Ints], level: float) -> _Evidence:
    laws, own = law_of_each(before[0], after[0], before[1] + after[1])
    p_P = p_values(laws, own, before[1])
    q_P, threshold = discrete_fdr(laws, own, p_P, 1 - level)
    ends = [binomial_interval(*counted, level) for counted in (before, after)]
    low, high = difference_interval(before, after, ends[0], ends[1])
    n = int(min(np.median(before[0]), np.median(after[0])))
    some = 0 < threshold < 1
    return _Evidence(
        p_P=p_P,
        q_P=q_P,
        low_P=low,
        high_P=high,
        threshold=threshold,
        n=n,
        power=detection_power(n, 0.1, alpha=threshold) if some else 0.0,
        smallest_loss=smallest_certified_loss(n, alpha=threshold) if some else float("nan"),
        method=f"Fisher's exact test, discrete step-up false-discovery rate {1 - level:.3g}",
    )


def _stopped_evidence(
    rules: tuple[StoppingRule, StoppingRule],
    before: tuple[Ints, Ints],
    after: tuple[Ints, Ints],
    level: float,
) -> _Evidence:
    check_pairs(*rules, before, after)
    p_P = design_p_values(*rules, before, after)
    q_P, threshold = benjamini_hochberg(p_P, 1 - level)
    paired = rules[0] == rules[1]
    end_before = pair_interval(rules[0], paired, before, after, level)
    end_after = pair_interval(rules[1], paired, after, before, level)
    low, high = difference_interval(before, after, end_before, end_after)
    return _Evidence(
        p_P=p_P,
        q_P=q_P,
        low_P=low,
        high_P=high,
        threshold=threshold,
        n=min(rule.cap for rule in rules),
        power=design_power(*rules, 0.1, 0.0, threshold),
        smallest_loss=design_smallest_loss(*rules, threshold),
        method="unconditional exact likelihood-ratio test under the stopping rules, "
        f"false-discovery rate {1 - level:.3g} (Benjamini-Hochberg)",
    )


def _rules(
    rule_before: StoppingRule | None, rule_after: StoppingRule | None, n_before: Ints, n_after: Ints
) -> tuple[StoppingRule, StoppingRule]:
    def known(rule: StoppingRule | None, n: Ints, side: str) -> StoppingRule:
        if rule is not None:
            return rule
        refuse(n != n[0], f"n_{side}", n, "one number for all prompts beside a stopping rule")
        return fixed_rule(int(n[0]))

    return known(rule_before, n_before, "before"), known(rule_after, n_after, "after")


def _calls(before: tuple[Ints, Ints], after: tuple[Ints, Ints], changed: Bools) -> tuple[str, ...]:
    (n, c), (m, d) = before, after
    fell = d * n < c * m
    names = [
        (changed & fell & (d == 0), "lost"),
        (changed & fell, "reduced"),
        (changed & (c == 0), "gained"),
        (changed, "raised"),
        ((c > 0) & (d > 0), "kept"),
        ((c == 0) & (d == 0), "absent"),
    ]
    chosen = np.select([test for test, _ in names], range(len(names)), default=len(names))
    table = (*(name for _, name in names), "undecided")
    return tuple(table[i] for i in chosen)


def difference_interval(
    before: tuple[Ints, Ints],
    after: tuple[Ints, Ints],
    ends_before: tuple[Floats, Floats],
    ends_after: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return the interval of p_after - p_before of each prompt from the interval of each side.

    Newcombe's (1998) combination of two single intervals, here of exact ones in place of Wilson's
    so that it errs on the wide side; with zero counts in both it is not [0, 0].
    """
    p_b, p_a = before[1] / before[0], after[1] / after[0]
    down = np.hypot(p_a - ends_after[0], ends_before[1] - p_b)
    up = np.hypot(ends_after[1] - p_a, p_b - ends_before[0])
    return np.maximum(p_a - p_b - down, -1.0), np.minimum(p_a - p_b + up, 1.0)


def _absent_bound(before: tuple[Ints, Ints], after: tuple[Ints, Ints], level: float) -> Floats:
    absent = (before[1] == 0) & (after[1] == 0)
    fewest = np.minimum(before[0], after[0])
    return np.where(absent, -np.expm1(np.log((1 - level) / 2) / fewest), np.nan)


def _notes(found: _Evidence) -> tuple[str, ...]:
    text = (
        f"at n = {found.n} a fall from 0.1 to 0 would be called in {found.power:.0%} of the cases"
    )
    if np.isfinite(found.smallest_loss):
        text += f"; a fall to 0 from {found.smallest_loss:.2g} or more in at least 80%"
    return (text + f" (p <= {found.threshold:.2g}); none called is no proof of safety",)
