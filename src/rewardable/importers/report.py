"""What an import found, assumed and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardable.importers.sources import Damage
from rewardable.records import FinishReason, Outcome


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

    def warnings(self, damage: Damage) -> list[str]:
        """Return what a reader should know, in words."""
        found = [*_damage_warnings(damage)]
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
        if len(self.steps) > 1:
            found.append(
                f"the rows come from {len(self.steps)} training steps: each step is another "
                "policy, and a trainer may have left out groups, so these are no independent "
                "samples of one policy."
            )
        sizes = set(self.samples.values())
        if len(sizes) > 1:
            found.append(f"prompts have between {min(sizes)} and {max(sizes)} samples.")
        return found


def _damage_warnings(damage: Damage) -> list[str]:
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
