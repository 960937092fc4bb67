"""Everything that the methods need, in one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from rewardable.locate.entry_tables import Free
from rewardable.locate.forced import Results
from rewardable.locate.likelihood import Tokens
from rewardable.locate.look import Look
from rewardable.locate.phases import COMPUTATION, OPERANDS, OPERATOR, PREAMBLE, REASONING, REST
from rewardable.locate.rollouts import PolicyRollouts
from rewardable.records import Prompt
from rewardable.results import Label

States = npt.NDArray[Any]
Openings = list[list[str]]
"""By prompt, opening texts."""


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """Everything that the methods need. Policies in order, the reference first.

    openings: by prompt, entry -> texts. results: by policy, what came of forced openings.
    given: by (source policy, tokens), drawn openings by prompt. arms: name -> openings by prompt.
    tokens: source -> token table. hidden: (policy, place) -> states [N, layers, width].
    """

    look: Look
    task: str
    prompts: Sequence[Prompt]
    rollouts: Sequence[PolicyRollouts]
    code: Mapping[str, int]
    openings: Sequence[Mapping[str, Sequence[str]]]
    results: Mapping[str, Results]
    given: Mapping[tuple[str, int], Openings]
    arms: Mapping[str, Openings]
    tokens: Mapping[str, Tokens] = field(default_factory=dict)
    hidden: Mapping[tuple[str, str], States] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the policies."""
        return [one.policy.name for one in self.rollouts]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The reference with every later policy."""
        return [(self.names[0], name) for name in self.names[1:]]

    @property
    def labels(self) -> dict[str, Label]:
        """What every row says."""
        return {"task": self.task}

    def free(self, policy: int) -> Free:
        """Return the free rollouts of a policy."""
        return self.rollouts[policy].free(dict(self.code))


def ratios_of(g: Gathered) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return which phases the ratios compare, the headline first: name -> (over, under)."""
    found = {phase for tokens in g.tokens.values() for phase in tokens.phases}
    if OPERANDS in found:
        return {
            "operands over rest": ((OPERANDS,), (REST,)),
            "up to the operator over rest": ((OPERANDS, OPERATOR), (REST,)),
        }
    return {
        "preamble over reasoning": ((PREAMBLE,), (REASONING,)),
        "first computation over reasoning": ((COMPUTATION,), (REASONING,)),
    }
