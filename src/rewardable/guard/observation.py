"""What the guard is shown: logged metrics, and counts of sampled audits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewardable.errors import DataError


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A logged number, where known with what it rests on.

    n: items averaged. standard_error: of the value.
    """

    value: float
    n: int | None = None
    standard_error: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptAudit:
    """Counts of one prompt: graded rollouts, successes, distinct rewarded solutions among them.

    distinct: None where the task names no solutions.
    """

    n: int
    c: int
    distinct: int | None = None

    def __post_init__(self) -> None:
        """Refuse counts that cannot be."""
        if not 0 <= self.c <= self.n:
            raise DataError(f"an audit needs 0 <= c <= n, got n = {self.n}, c = {self.c}.")
        if self.distinct is not None and not min(self.c, 1) <= self.distinct <= self.c:
            raise DataError(
                f"distinct solutions lie between 1 and c = {self.c} (0 without success), "
                f"got {self.distinct}; count rewarded ones only."
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """One sampled look at the future prompts of a task: prompt key -> counts.

    ungraded: rollouts that got no verdict; they are in no prompt's n.
    tokens: what the look cost.
    """

    task: str
    prompts: Mapping[str, PromptAudit]
    ungraded: int = 0
    tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse an empty look."""
        if not self.prompts:
            raise DataError(f"an audit of {self.task!r} has no prompts.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """Everything known at one step. Metrics carry the trainer's own names.

    All audits at the step of the first one are the start; several of the same prompts are
    replicates and sharpen it.
    """

    step: int
    metrics: Mapping[str, float | Metric] = field(default_factory=dict[str, float | Metric])
    audits: tuple[Audit, ...] = ()
