"""Arms that were sampled under a stopping rule: final states, and the part of fixed size.

The first ``rule.first`` graded rollouts of a prompt are drawn whatever they turn out to be, so they
are a sample of fixed size: every estimator that does not know stopping rules is given these alone.
Those that do know them take the final states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from rewardable.errors import ConfigError, DataError
from rewardable.measure.counts import UNGRADED, Bools, Counts, Ints
from rewardable.metrics import StoppingRule
from rewardable.store import Samples, parts_at


@dataclass(frozen=True, kw_only=True, eq=False)
class Stopped:
    """Where the prompts of an arm ended under ``rule``.

    counts: final states; ungraded rollouts are those among the ones that led there.
    low, high: final states if every ungraded one were wrong, or right.
    end: states under ``rule.to_the_end``, for prompts that were taken up again; n = -1 where the
    rollouts do not reach one. rollouts_P: all that are stored. open_P: prompts that did not end,
    because too many rollouts stayed ungraded.
    """

    rule: StoppingRule
    counts: Counts
    low: Counts
    high: Counts
    end: Counts
    rollouts_P: Ints
    open_P: Bools

    def at(self, places: Sequence[int]) -> Stopped:
        """Return the states of the prompts at these places."""
        index = np.asarray(places, dtype=np.int64)
        parts = {name: getattr(self, name).at(places) for name in ("counts", "low", "high", "end")}
        return replace(self, rollouts_P=self.rollouts_P[index], open_P=self.open_P[index], **parts)


def stop(samples: Samples, rule: StoppingRule, where: str) -> tuple[Samples, Stopped]:
    """Return the part of fixed size of ``samples``, and the states in which the prompts ended.

    Prompts that did not end keep their ungraded rollouts alone. Raises DataError when sampling
    was not finished.
    """
    size = len(samples.prompt_keys)
    rows_P = np.bincount(samples.prompt_R, minlength=size).astype(np.int64)
    starts_P = np.cumsum(rows_P) - rows_P
    outcomes = [samples.outcome_R[a : a + n] for a, n in zip(starts_P, rows_P, strict=True)]
    states = [_states(rule, outcome_N) for outcome_N in outcomes]
    open_P = np.array([state[0][2] > 0 for state in states], dtype=bool)
    early = int((open_P & (rows_P < rule.most_rollouts)).sum())
    if early:
        raise DataError(
            f"{where}: {early} of {size} prompts were not sampled to the end ({rule.words}); "
            "sample again to go on."
        )
    plain, low, high, end = (
        Counts(*(np.array([state[place][part] for state in states], dtype=np.int64).reshape(-1)
                 for part in (0, 1, 3)))
        for place in range(4)
    )  # fmt: skip
    found = Stopped(rule=rule, counts=plain, low=low, high=high, end=end, rollouts_P=rows_P,
                    open_P=open_P)  # fmt: skip
    return _first(samples, rule.first, open_P), found


def _states(rule: StoppingRule, outcome_N: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Return (n, c, further needed, ungraded) as it is, at the two extremes, and to the end."""
    graded_N = outcome_N != UNGRADED
    n, c, more = rule.follow(outcome_N[graded_N] == 1)
    used = int(np.searchsorted(np.cumsum(graded_N), n)) + 1 if n else 0
    ungraded = used - n if not more else int((~graded_N).sum())
    ends = [_filled(rule, outcome_N, fill) for fill in (0, 1)] if ungraded else [(n, c)] * 2
    last = rule.to_the_end.follow(outcome_N[graded_N] == 1)
    last_n = last[0] if not last[2] else -1
    return [(n, c, more, ungraded), *((*end, 0, 0) for end in ends), (last_n, last[1], 0, 0)]


def _filled(rule: StoppingRule, outcome_N: np.ndarray, fill: int) -> tuple[int, int]:
    """Return the state if every ungraded rollout, and any beyond the last, were ``fill``."""
    beyond = np.full(rule.cap, fill)
    n, c, _ = rule.follow(np.append(np.where(outcome_N == UNGRADED, fill, outcome_N), beyond))
    return n, c


def _first(samples: Samples, first: int, open_P: Bools) -> Samples:
    """Keep each prompt's rollouts up to its first graded ones; of open prompts the ungraded."""
    graded_R = samples.outcome_R != UNGRADED
    total_R = np.cumsum(graded_R)
    before_P = np.zeros(len(samples.prompt_keys), dtype=np.int64)
    begin_R = np.flatnonzero(np.diff(samples.prompt_R, prepend=-1))
    before_P[samples.prompt_R[begin_R]] = total_R[begin_R] - graded_R[begin_R]
    earlier_R = total_R - graded_R - before_P[samples.prompt_R]
    open_R = open_P[samples.prompt_R]
    return only(samples, (earlier_R < first) & ~(open_R & graded_R))


def only(samples: Samples, keep_R: Bools) -> Samples:
    """Keep some rollouts; all prompts stay."""
    rows = {field.name: getattr(samples, field.name)[keep_R]
            for field in fields(samples) if field.name.endswith("_R")}  # fmt: skip
    labels = {kind: code_R[keep_R] for kind, code_R in samples.labels.items()}
    return replace(samples, labels=labels, parts=parts_at(samples.parts, keep_R), **rows)


def pair_states(before: Stopped, after: Stopped) -> tuple[Counts, Counts]:
    """Return where both sides of a pair ended, given-up prompts taken up again for the other.

    Raises DataError when a prompt should have been taken up again and was not.
    """
    if before.rule != after.rule or not before.rule.give_up:
        return before.counts, after.counts
    return _taken_up(before, after), _taken_up(after, before)


def _taken_up(own: Stopped, other: Stopped) -> Counts:
    rule = own.rule
    again_P = rule.gave_up(own.counts.n_P, own.counts.c_P) & rule.late(
        other.counts.n_P, other.counts.c_P
    )
    missing = int((again_P & (own.end.n_P < 0)).sum())
    if missing:
        raise DataError(
            f"{missing} prompts that one policy gave up, and another solves late, were not sampled "
            "on; sample again to go on."
        )
    return Counts(
        np.where(again_P, own.end.n_P, own.counts.n_P),
        np.where(again_P, own.end.c_P, own.counts.c_P),
        own.counts.u_P,
    )


def design_text(task: str, found: Sequence[Stopped]) -> str:
    """Say how an adaptive run was sampled and what its figures rest on."""
    rule = found[0].rule
    drawn = np.concatenate([one.rollouts_P for one in found])
    text = (
        f"Task {task}: every prompt was sampled {rule.words}; between {drawn.min()} and "
        f"{drawn.max()} rollouts, {drawn.sum():,} in all where n = {rule.cap} of each had been "
        f"{rule.cap * drawn.size:,}. pass@k, support@k, trainability and transitions take this "
        f"rule; every other figure is of the first {rule.first} graded rollouts of each prompt."
    )
    if rule.give_up:
        text += (
            f" Budgets above {rule.widest} have no value. In transitions a prompt that one policy "
            "gave up and the other solves late was sampled on, up to the cap."
        )
    return text


def refuse_threshold(success_at: float | None) -> None:
    """Refuse to count other successes than those that the rule counted when it stopped."""
    if success_at is not None:
        raise ConfigError(
            "success_at cannot change what a success is in a run that stopped at a number of "
            "successes: sample it anew with a verifier that has this threshold."
        )
