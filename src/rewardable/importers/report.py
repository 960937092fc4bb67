"""What an import found, assumed and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardable.importers.sources import Damage
from rewardable.records import FinishReason, Outcome

SHOWN = 10
"""Of the rows that were skipped."""
MOST_SCORES = 9
MOST_TEXTS = 500_000
"""Texts that are looked for again, so that memory stays bounded."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """Totals of one import, what it took for granted, and what a reader should know.

    n_correct, n_wrong: samples judged so; of counts, the totals of c and of n - c.
    n_per_prompt: (smallest, largest) number of samples of a prompt.
    reasons: why rollouts are ungraded -> how many. broken_texts: completions with half a
    surrogate pair. assumptions, warnings: sentences.
    """

    source: str
    sha256: str
    format: str
    n_rows: int
    n_prompts: int
    n_rollouts: int
    n_counts: int
    n_correct: int
    n_wrong: int
    n_ungraded: int
    n_failed: int
    n_truncated: int
    n_per_prompt: tuple[int, int]
    policies: Mapping[str, str] = field(default_factory=dict)
    """name -> key"""
    reasons: Mapping[str, int] = field(default_factory=dict)
    broken_texts: int = 0
    torn_line: int | None = None
    broken_lines: tuple[int, ...] = ()
    n_bad_rows: int = 0
    """rows that could not be used and were skipped"""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """why good rows were left out -> how many"""
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counts while rows are converted."""

    rows: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter[Outcome])
    reasons: Counter[str] = field(default_factory=Counter[str])
    finishes: Counter[FinishReason] = field(default_factory=Counter[FinishReason])
    odd_finishes: Counter[str] = field(default_factory=Counter[str])
    samples: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """(policy key, prompt key) -> samples"""
    counts: int = 0
    broken_texts: int = 0
    unit_scores: int = 0
    """scores outside [0, 1]"""
    merged_texts: int = 0
    """prompts that are equal but for white space and Unicode form"""
    steps: set[str] = field(default_factory=set[str])
    """values of a training step column"""
    n_bad_rows: int = 0
    """rows that could not be used, left out because that was asked for"""
    bad_rows: list[tuple[int | str, str]] = field(default_factory=list[tuple[int | str, str]])
    """the first of them, and why"""
    seen_scores: Counter[float] = field(default_factory=Counter[float])
    """the first distinct raw scores"""
    copies: int = 0
    """completions that equal an earlier one of their policy and prompt, as far as that is kept"""
    texts: set[int] = field(default_factory=set[int])

    def note_text(self, policy_key: str, prompt_key: str, text: str) -> None:
        """Count a completion that its prompt had before."""
        mark = hash((policy_key, prompt_key, text))
        if mark in self.texts:
            self.copies += 1
        elif len(self.texts) < MOST_TEXTS:
            self.texts.add(mark)

    def note_bad_row(self, number: int | str, why: str) -> None:
        """Count a row that could not be used."""
        self.n_bad_rows += 1
        if len(self.bad_rows) < SHOWN:
            self.bad_rows.append((number, why))

    def note_score(self, raw: float | None) -> None:
        """Keep which values scores take, while they are few."""
        if raw is not None and (raw in self.seen_scores or len(self.seen_scores) <= MOST_SCORES):
            self.seen_scores[raw] += 1

    def values(self) -> str:
        """Return the values that scores took, in words; nothing for 0 and 1 alone."""
        if self.seen_scores.keys() <= {0.0, 1.0}:
            return ""
        if len(self.seen_scores) > MOST_SCORES:
            few = sorted(self.seen_scores)[:3]
            return f"scores take many values, such as {', '.join(f'{one:g}' for one in few)}"
        told = ", ".join(f"{one:g} ({n:,})" for one, n in sorted(self.seen_scores.items()))
        return f"scores take the values {told}"

    def warnings(self, *, each: bool = False) -> list[str]:
        """Return what a reader should know of the rows, in words.

        each: every training step is a policy of its own.
        """
        found = self._left_out()
        if self.broken_texts:
            found.append(f"{self.broken_texts} completions hold half a surrogate pair.")
        if self.unit_scores:
            found.append(
                f"{self.unit_scores} scores lie outside [0, 1]: judged by the success rule, kept "
                "as the part 'raw', no graded score."
            )
        if self.merged_texts:
            found.append(
                f"{self.merged_texts} prompt texts differ from another in white space or Unicode "
                "form alone and were taken for one prompt."
            )
        if self.odd_finishes:
            listing = ", ".join(map(repr, sorted(self.odd_finishes)))
            found.append(f"finish reasons taken as unknown: {listing}.")
        if len(self.steps) > 1 and not each:
            found.append(
                f"the rows come from {len(self.steps)} training steps: each step is another "
                "policy, and a trainer may have left out groups, so these are no independent "
                "samples of one policy. Take one with --step N, or each as its own policy with "
                "--step each."
            )
        if 2 * self.copies >= self.finishes.total() > 2:
            found.append(
                f"{self.copies:,} of {self.finishes.total():,} completions equal an earlier one of "
                "their prompt: greedy sampling, or rows that were written twice?"
            )
        sizes = set(self.samples.values())
        if len(sizes) > 1:
            found.append(f"prompts have between {min(sizes)} and {max(sizes)} samples.")
        return found

    def _left_out(self) -> list[str]:
        found: list[str] = []
        for number, why in self.bad_rows:
            found.append(f"row {number} was skipped: {why}")
        if self.n_bad_rows > SHOWN:
            found.append(f"{self.n_bad_rows - SHOWN:,} more rows were skipped.")
        return found


def damage_warnings(damage: Damage) -> list[str]:
    """Return what was wrong with a file, in words."""
    found: list[str] = []
    if damage.cut_stream:
        found.append("the compressed stream is cut; what is complete before the cut was read.")
    if damage.torn_line is not None:
        found.append(f"the last record, line {damage.torn_line}, is unfinished and was left out.")
    if damage.broken_lines:
        lines = ", ".join(map(str, damage.broken_lines[:20]))
        more = "..." if len(damage.broken_lines) > 20 else ""
        found.append(f"{len(damage.broken_lines)} broken lines were skipped: {lines}{more}.")
    return found
