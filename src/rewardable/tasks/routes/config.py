"""Tasks of the two-route world: configurations, and the prompts they write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewardable.errors import ConfigError, unknown_name
from rewardable.records import Json, Prompt, user_prompt
from rewardable.tasks.distinct import distinct_prompts
from rewardable.tasks.options import Span, spec_of
from rewardable.tasks.routes.constraints import (
    KINDS,
    Constraint,
    draw_constraint,
    read_constraint,
)
from rewardable.tasks.routes.expression import (
    Expression,
    direct_text,
    draw_expression,
    read_expression,
    steps_text,
)
from rewardable.tasks.routes.verify import Goal, Policy, RoutesVerifier

__all__ = ["RoutesTask", "direct_text", "instance_of", "steps_text"]

VERSION = "1"


@dataclass(frozen=True, kw_only=True)
class RoutesMath:
    """Options of the mathematics half; its prompts carry no constraint.

    terms: operations in an expression. products: whether the first may be a product.
    kinds: constraint kinds of tagged prompts, joined by ``+``; ``all`` is every kind.
    policy: ``strict`` or ``lenient`` (see ``verify``). split: ``train`` and ``test`` share no
    expression.
    """

    catalog_name: ClassVar[str] = "routes-math"
    goal: ClassVar[Goal] = "math"

    terms: Span = field(default=Span(2, 2))
    products: bool = True
    kinds: str = "all"
    policy: Policy = "strict"
    split: Literal["train", "test", "all"] = "test"

    def __post_init__(self) -> None:
        """Refuse sizes and kinds that do not exist."""
        if not 1 <= self.terms.low <= self.terms.high <= 5:
            raise ConfigError(f"terms must lie in 1-5, got {self.terms}.")
        for kind in self.chosen_kinds:
            if kind not in KINDS:
                raise unknown_name("constraint kind", kind, KINDS)

    @property
    def chosen_kinds(self) -> tuple[str, ...]:
        """The kinds that prompts are tagged with."""
        return tuple(KINDS) if self.kinds == "all" else tuple(self.kinds.split("+"))

    def build(self) -> RoutesTask:
        """Build the task."""
        name = spec_of(self.catalog_name, self, leave_out=("policy",))
        verifier = RoutesVerifier(goal=self.goal, policy=self.policy)
        return RoutesTask(name=name, verifier=verifier, config=self)


@dataclass(frozen=True, kw_only=True)
class RoutesInstruction(RoutesMath):
    """The instruction half: tagged prompts, the constraint alone is judged."""

    catalog_name: ClassVar[str] = "routes-instruction"
    goal: ClassVar[Goal] = "instruction"


@dataclass(frozen=True, kw_only=True)
class RoutesJoint(RoutesMath):
    """Both at once: tagged prompts, right and compliant."""

    catalog_name: ClassVar[str] = "routes-joint"
    goal: ClassVar[Goal] = "joint"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoutesTask:
    """Prompts of the two-route world.

    Facts hold ``expression``, ``answer`` and, of tagged prompts, ``constraint`` and
    ``constraint_kind``. An untagged prompt can be answered right by two routes (its totals).
    """

    name: str
    verifier: RoutesVerifier
    config: RoutesMath
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same sequence.

        Raises
        ------
        DataError: the options do not leave so many.
        """
        rng = random.Random(f"routes {seed}")
        return distinct_prompts(self.name, count, lambda place: self._draw(rng, place))

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return the steps and the direct answer where the result is judged, as far as allowed."""
        expression = read_expression(str(prompt.facts["expression"]))
        tag = prompt.facts.get("constraint")
        texts = (steps_text(expression), direct_text(expression))
        if self.config.goal == "math" or tag is None:
            return texts
        kept = tuple(text for text in texts if read_constraint(str(tag)).holds(text))
        return kept if self.config.goal == "joint" else ()

    def _draw(self, rng: random.Random, place: int) -> Prompt | None:
        config = self.config
        terms = rng.randint(config.terms.low, config.terms.high)
        expression = draw_expression(rng, terms, products=config.products)
        if config.split != "all" and expression.is_test != (config.split == "test"):
            return None
        if config.goal == "math":
            return instance_of(self.name, expression, None)
        kinds = config.chosen_kinds
        constraint = draw_constraint(rng, kinds[place % len(kinds)], expression)
        return None if constraint is None else instance_of(self.name, expression, constraint)


def instance_of(task: str, expression: Expression, constraint: Constraint | None) -> Prompt:
    """Build the prompt ``EXPRESSION?CONSTRAINT:`` with its facts."""
    tag = "" if constraint is None else str(constraint)
    facts: dict[str, Json] = {
        "expression": str(expression),
        "answer": str(expression.value),
        "difficulty": {"terms": len(expression.terms)},
    }
    if constraint is None:
        facts["totals"] = {"route": 2}
    else:
        facts |= {"constraint": tag, "constraint_kind": constraint.kind}
    return user_prompt(task, VERSION, f"{expression}?{tag}:", facts)
