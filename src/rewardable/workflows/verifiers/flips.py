"""Flips between two verifiers, counted by pattern and by prompt."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rewardable.records import Outcome, RolloutId, Verdict, digest
from rewardable.workflows.verifiers.rescore import Pair
from rewardable.workflows.verifiers.shapes import label_change, shape_of

EXAMPLES = 3
"""Quoted of each pattern."""

Direction = tuple[Outcome, Outcome]
DIRECTIONS: tuple[Direction, ...] = tuple(
    (old, new) for old in Outcome for new in Outcome if old is not new
)


class Pattern(NamedTuple):
    """What flips have in common. ``flip`` is false where only a reason or a label changed."""

    flip: bool
    old: Outcome
    new: Outcome
    old_reason: str
    new_reason: str
    labels: str
    shape: str


class Quoted(NamedTuple):
    """An example; the smallest digests are kept, so that the order of judging does not matter."""

    digest: str
    id: RolloutId
    text: str
    old: Verdict
    new: Verdict


@dataclass
class PromptTally:
    """Rollouts of one prompt and arm: how many, and how many changed in each direction."""

    n: int = 0
    n_graded: int = 0
    change: int = 0
    moves: Counter[Direction] = field(default_factory=Counter[Direction])

    def add(self, old: Outcome, new: Outcome) -> None:
        """Count a rollout."""
        self.n += 1
        if old is not new:
            self.moves[old, new] += 1
        if Outcome.UNGRADED not in (old, new):
            self.n_graded += 1
            self.change += (new is Outcome.CORRECT) - (old is Outcome.CORRECT)


Place = tuple[str, str, str]
"""Policy key, spec key, prompt key."""


@dataclass
class Tally:
    """Everything that a comparison counts."""

    patterns: Counter[Pattern] = field(default_factory=Counter[Pattern])
    examples: dict[Pattern, list[Quoted]] = field(default_factory=dict[Pattern, list[Quoted]])
    places: dict[Place, PromptTally] = field(default_factory=dict[Place, PromptTally])

    def add(self, pair: Pair) -> Pattern | None:
        """Count a pair; return its pattern when something changed."""
        rollout, old, new = pair
        where = rollout.id
        place = (where.policy_key, where.spec_key, where.prompt_key)
        self.places.setdefault(place, PromptTally()).add(old.outcome, new.outcome)
        pattern = pattern_of(pair)
        if pattern is not None:
            self.patterns[pattern] += 1
            self._quote(pattern, pair)
        return pattern

    def _quote(self, pattern: Pattern, pair: Pair) -> None:
        text = pair.rollout.completion.text
        kept = self.examples.setdefault(pattern, [])
        if any(quoted.text == text for quoted in kept):
            return
        one = Quoted(_digest(pair.rollout.id), pair.rollout.id, text, pair.old, pair.new)
        kept[:] = heapq.nsmallest(EXAMPLES, [*kept, one], key=lambda quoted: quoted.digest)

    @property
    def arms(self) -> list[tuple[str, str]]:
        """Policies and specs, sorted."""
        return sorted({(policy, spec) for policy, spec, _ in self.places})

    def by_prompt(self, arms: Iterable[tuple[str, str]]) -> dict[str, PromptTally]:
        """Return the counts of each prompt over some arms."""
        wanted = set(arms)
        found: dict[str, PromptTally] = {}
        for (policy, spec, prompt), one in self.places.items():
            if (policy, spec) in wanted:
                total = found.setdefault(prompt, PromptTally())
                total.n += one.n
                total.n_graded += one.n_graded
                total.change += one.change
                total.moves += one.moves
        return dict(sorted(found.items()))

    def flips(self) -> Iterator[tuple[Pattern, int]]:
        """Yield the patterns of flips, then those of changed reasons and labels, by frequency."""
        order = sorted(
            self.patterns.items(), key=lambda item: (not item[0].flip, -item[1], item[0])
        )
        yield from order


def pattern_of(pair: Pair) -> Pattern | None:
    """Return what changed, None when outcome, reason and labels agree.

    A reason or label where the old verdict had none is no change.
    """
    old, new = pair.old, pair.new
    flip = old.outcome is not new.outcome
    other = bool(old.reason) and old.reason != new.reason
    if not flip and not other and all(new.labels.get(k) == v for k, v in old.labels.items()):
        return None
    labels = label_change(old, new)
    return Pattern(
        flip=flip,
        old=old.outcome,
        new=new.outcome,
        old_reason=old.reason,
        new_reason=new.reason,
        labels=labels,
        shape=shape_of(old, new, pair.rollout.completion.text),
    )


def flip_row(pair: Pair, pattern: Pattern) -> Mapping[str, object]:
    """Return a flip as one JSON object."""
    where = pair.rollout.id
    return {
        "policy": where.policy_key,
        "spec": where.spec_key,
        "prompt": where.prompt_key,
        "index": where.index,
        "old": pair.old.outcome,
        "new": pair.new.outcome,
        "old_reason": pair.old.reason,
        "new_reason": pair.new.reason,
        "old_labels": dict(pair.old.labels),
        "new_labels": dict(pair.new.labels),
        "shape": pattern.shape,
        "text": pair.rollout.completion.text,
    }


def _digest(one: RolloutId) -> str:
    return digest("flip", one.policy_key, one.spec_key, one.prompt_key, one.index)
