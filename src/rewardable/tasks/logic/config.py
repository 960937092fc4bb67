"""Instances of forward chaining whose proofs are all known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewardable.errors import ConfigError
from rewardable.records import Prompt, user_prompt
from rewardable.tasks.distinct import distinct_prompts
from rewardable.tasks.logic.rules import (
    LETTERS,
    Instance,
    draw_instance,
    entries,
    follows,
    proofs,
    written,
)
from rewardable.tasks.logic.verify import LogicVerifier, Policy, instance_of
from rewardable.tasks.options import Span, spec_of

VERSION = "1"
_TEXT = (
    "Known: {facts}.\nRules:\n{rules}\n"
    "Derive {goal}. Write one step a line: the number and the text of a rule whose left side is "
    "known. The last step derives {goal}."
)


@dataclass(frozen=True, kw_only=True)
class LogicSteps:
    """Options of the derivations.

    letters, rules: size of an instance. depth: rounds of rules that the goal needs at least.
    min_proofs: how many proofs there must be. policy: see ``verify``.
    """

    letters: int = 8
    rules: Span = field(default=Span(7, 10))
    depth: Span = field(default=Span(2, 4))
    min_proofs: int = 1
    policy: Policy = "strict"

    def __post_init__(self) -> None:
        """Refuse sizes that no instance has."""
        if not 5 <= self.letters <= len(LETTERS):
            raise ConfigError(f"letters must lie in 5-{len(LETTERS)}, got {self.letters}.")
        if not 1 <= self.rules.low <= self.rules.high <= 14 or self.depth.low < 1:
            raise ConfigError(
                f"rules must lie in 1-14 and depth from 1, got {self.rules}, {self.depth}."
            )
        if self.min_proofs < 1:
            raise ConfigError(f"min_proofs must be at least 1, got {self.min_proofs}.")

    def build(self) -> LogicTask:
        """Build the task."""
        name = spec_of("logic-steps", self, leave_out=("policy",))
        return LogicTask(name=name, verifier=LogicVerifier(policy=self.policy), config=self)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogicTask:
    """Prompts; facts hold ``given``, ``rules``, ``goal``; ``totals`` count proofs and entries."""

    name: str
    verifier: LogicVerifier
    config: LogicSteps
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same sequence.

        Raises
        ------
        DataError: the options leave too few.
        """
        rng = random.Random(f"logic {seed}")
        config = self.config

        def draw(_: int) -> Prompt | None:
            rules = rng.randint(config.rules.low, config.rules.high)
            return self._prompt(draw_instance(rng, config.letters, rules))

        return distinct_prompts(self.name, count, draw)

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return every proof, written in an order in which its steps can be made."""
        instance = instance_of(prompt.facts)
        return () if instance is None else tuple(written(instance, p) for p in proofs(instance))

    def _prompt(self, instance: Instance) -> Prompt | None:
        depth = follows(instance, range(1, len(instance.rules) + 1)).get(instance.goal, 0)
        if not self.config.depth.low <= depth <= self.config.depth.high:
            return None
        known = proofs(instance)
        if len(known) < self.config.min_proofs:
            return None
        rules = [str(rule) for rule in instance.rules]
        text = _TEXT.format(
            facts=", ".join(instance.facts),
            rules="\n".join(f"{i}: {rule}" for i, rule in enumerate(rules, start=1)),
            goal=instance.goal,
        )
        facts = {
            "given": list(instance.facts),
            "rules": rules,
            "goal": instance.goal,
            "totals": {"solution": len(known), "entry": len(entries(instance, known))},
            "difficulty": {"depth": depth, "rules": len(rules)},
        }
        return user_prompt(self.name, self.version, text, facts)
