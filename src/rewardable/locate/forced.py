"""Forced openings: what is asked for, and counting what came of it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rewardable.locate.entry_tables import Forced
from rewardable.locate.interventions import Arm
from rewardable.locate.rollouts import PolicyRollouts
from rewardable.locate.task_rules import EntryTask, Rules
from rewardable.protocols import Task
from rewardable.records import Prompt

Place = tuple[int, str]
"""Prompt, opening text."""


@dataclass(kw_only=True)
class Demand:
    """How many rollouts are wanted behind each opening of each prompt.

    Several parts that want the same opening share its rollouts.
    """

    count: dict[Place, int] = field(default_factory=dict)

    def want(self, place: Place, count: int) -> None:
        """Ask for at least ``count`` rollouts."""
        self.count[place] = max(self.count.get(place, 0), count)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForcedResult:
    """Graded rollouts behind one opening, in order of index: success, solution (or None)."""

    success: tuple[bool, ...]
    solution: tuple[str | None, ...]


Results = Mapping[Place, ForcedResult]


def entry_openings(
    task: Task,
    prompts: Sequence[Prompt],
    rollouts: Sequence[PolicyRollouts],
    rules: Rules,
    *,
    most: int,
    preamble: str,
    seed: int,
) -> list[dict[str, tuple[str, ...]]]:
    """Return by prompt: entry -> opening texts. From the task where it lists them, else as seen."""
    if rules.label and isinstance(task, EntryTask):
        listed = [task.entry_openings(prompt) for prompt in prompts]
        return [
            {
                entry: tuple(preamble + text for text in one[entry])
                for entry in _some(sorted(one), most, f"{seed} {i}")
            }
            for i, one in enumerate(listed)
        ]
    return [_as_seen(i, rollouts, rules, most, preamble) for i in range(len(prompts))]


def _some(entries: Sequence[str], most: int, seed: str) -> list[str]:
    if len(entries) <= most:
        return list(entries)
    return sorted(random.Random(f"families {seed}").sample(list(entries), most))


def _as_seen(
    prompt: int, rollouts: Sequence[PolicyRollouts], rules: Rules, most: int, preamble: str
) -> dict[str, tuple[str, ...]]:
    """Take the entries seen most, each behind the shortest text that was seen to lead to it."""
    rows = [one for policy in rollouts for one in policy.rows if one.prompt == prompt and one.entry]
    counts = Counter(one.entry for one in rows if one.entry)
    found: dict[str, tuple[str, ...]] = {}
    for entry, _ in counts.most_common(most):
        heads = [_up_to_entry(one.head, entry, rules) for one in rows if one.entry == entry]
        known = [head for head in heads if head]
        if known:
            found[entry] = (preamble + min(known, key=lambda head: (len(head), head)),)
    return found


def _up_to_entry(head: str, entry: str, rules: Rules) -> str | None:
    """Return the shortest beginning of ``head`` whose entry is ``entry``."""
    for end in range(1, len(head) + 1):
        if rules.entry(head[:end]) == entry:
            whole = head[:end]
            # an operator ends this entry; the operand behind it stays free
            return whole.rstrip("0123456789$ ") if entry[-1] in "+-*/" else whole
    return None


def forced_counts(
    results: Results, openings: Sequence[Mapping[str, Sequence[str]]], code: Mapping[str, int]
) -> Forced:
    """Sum the openings of each family."""
    rows: list[tuple[int, int, int, int]] = []
    for i, families in enumerate(openings):
        for entry, texts in families.items():
            seen = [results[i, text].success for text in texts if (i, text) in results]
            flat = [one for part in seen for one in part]
            rows.append((i, code[entry], len(flat), sum(flat)))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Forced(prompt_L=columns[0], family_L=columns[1], n_L=columns[2], c_L=columns[3])


def arm_counts(
    name: str, results: Results, openings: Sequence[Iterable[str]], n_prompts: int
) -> Arm:
    """Count an arm: ``openings`` by prompt, an opening twice takes its first two rollouts."""
    n_P, c_P = (np.zeros(n_prompts, dtype=np.int64) for _ in range(2))
    for i, texts in enumerate(openings):
        for text, times in Counter(texts).items():
            found = results.get((i, text))
            taken = found.success[:times] if found is not None else ()
            n_P[i] += len(taken)
            c_P[i] += sum(taken)
    return Arm(name=name, n_P=n_P, c_P=c_P)
