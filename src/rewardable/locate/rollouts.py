"""Free rollouts of every policy, kept small, and everything else that the methods need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardable.locate.entry_tables import Free
from rewardable.records import Policy

HEAD = 400
"""Characters of a text that are kept of every rollout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """A graded rollout. ``token_ids`` are whole; ``head`` is the beginning of its text.

    truncated: cut at the token limit.
    """

    prompt: int
    head: str
    token_ids: tuple[int, ...]
    entry: str | None
    solution: str | None
    success: bool
    answered: bool
    truncated: bool = False


@dataclass(frozen=True, kw_only=True)
class PolicyRollouts:
    """The graded free rollouts of one policy, in order of prompt and index; how many are not."""

    policy: Policy
    rows: tuple[Seen, ...]
    ungraded: int = 0

    @property
    def prompt_R(self) -> npt.NDArray[np.int64]:  # noqa: N802
        """Prompt of each rollout."""
        return np.array([one.prompt for one in self.rows], dtype=np.int64)

    @property
    def success_R(self) -> npt.NDArray[np.bool_]:  # noqa: N802
        """Whether each rollout is a success."""
        return np.array([one.success for one in self.rows], dtype=bool)

    def free(self, code: dict[str, int]) -> Free:
        """Return starts and successes; rollouts without an entry are the family ``""``.

        All of them, not the successes alone, else a change of success among them would count as
        a change of access.
        """
        family = [code.get(one.entry or "", -1) for one in self.rows]
        return Free(
            prompt_R=self.prompt_R,
            family_R=np.array(family, dtype=np.int64),
            success_R=self.success_R,
        )


def entry_codes(rollouts: Sequence[PolicyRollouts], listed: Sequence[str]) -> dict[str, int]:
    """Return a number for every entry, seen or listed by the task; ``""`` is none."""
    names = {one.entry for policy in rollouts for one in policy.rows if one.entry} | set(listed)
    return {name: i for i, name in enumerate(["", *sorted(names)])}
