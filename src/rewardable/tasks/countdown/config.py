"""Countdown tasks: configurations, and the prompts they write."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Any, ClassVar

from rewardable.records import Completion, Outcome, Prompt, user_prompt
from rewardable.tasks.countdown.evaluate import evaluate
from rewardable.tasks.countdown.generate import Draw, Instance, Split, qualifying
from rewardable.tasks.countdown.solve import Solution, solutions_at
from rewardable.tasks.countdown.steps import StepText, step_texts
from rewardable.tasks.countdown.verify import CountdownVerifier, Policy, Rule, Style
from rewardable.tasks.options import Span, spec_of

VERSION = "1"
_NO_LIMIT = 10**9


@dataclass(frozen=True, kw_only=True)
class Countdown:
    """Options of a Countdown task.

    numbers: how many numbers. values: their range. targets: range of the target.
    min_/max_solutions, min_/max_families: which instances qualify; a maximum of 0 is no limit.
    style: ``expression`` or ``steps``. policy: ``strict`` or ``lenient`` (see ``verify``).
    integers_only: every intermediate result must be an integer (for steps: also in ``lenient``).
    rule: ``any``, ``division`` (the answer contains one), ``start`` (with a given number).
    split: ``train`` and ``test`` share no (sorted numbers, target); ``all`` is both.
    """

    catalog_name: ClassVar[str] = "countdown"

    numbers: Span = field(default=Span(4, 4))
    values: Span = field(default=Span(1, 20))
    targets: Span = field(default=Span(10, 99))
    min_solutions: int = 1
    max_solutions: int = 0
    min_families: int = 1
    max_families: int = 0
    style: Style = "expression"
    policy: Policy = "strict"
    integers_only: bool = False
    rule: Rule = "any"
    split: Split = "test"

    def build(self) -> CountdownTask:
        """Build the task; ConfigError for options that cannot be meant together."""
        steps = self.style == "steps"
        draw = Draw(
            numbers=self.numbers,
            values=self.values,
            targets=self.targets,
            solutions=Span(self.min_solutions, self.max_solutions or _NO_LIMIT),
            families=Span(self.min_families, self.max_families or _NO_LIMIT),
            style=self.style,
            rationals=steps and self.policy == "lenient" and not self.integers_only,
            integers_only=self.integers_only,
            rule=self.rule,
            split=self.split,
        )
        verifier = CountdownVerifier(
            style=self.style,
            policy=self.policy,
            integers_only=self.integers_only,
            rule=self.rule,
        )
        # In steps the policy decides which texts are valid, so it changes the totals.
        name = spec_of(self.catalog_name, self, leave_out=() if steps else ("policy",))
        return CountdownTask(name=name, verifier=verifier, draw=draw)


@dataclass(frozen=True, kw_only=True)
class CountdownSteps(Countdown):
    """Countdown in compact steps, 3 numbers from 1 to 20."""

    catalog_name: ClassVar[str] = "countdown-steps"

    numbers: Span = field(default=Span(3, 3))
    style: Style = "steps"


@dataclass(frozen=True, kw_only=True)
class CountdownStepsDivision(CountdownSteps):
    """Compact steps that must contain a division."""

    catalog_name: ClassVar[str] = "countdown-steps-division"

    rule: Rule = "division"


@dataclass(frozen=True, kw_only=True)
class CountdownStepsStart(CountdownSteps):
    """Compact steps that must start with a given number, which the prompt does not name."""

    catalog_name: ClassVar[str] = "countdown-steps-start"

    rule: Rule = "start"


@dataclass(frozen=True, kw_only=True, slots=True)
class CountdownTask:
    """Countdown prompts with their totals, and the verifier."""

    name: str
    verifier: CountdownVerifier
    draw: Draw
    version: str = VERSION

    def prompts(self, count: int, seed: int) -> Sequence[Prompt]:
        """Return ``count`` distinct prompts; a larger count continues the same sequence.

        Raises
        ------
        DataError: the options do not leave so many instances.
        """
        return tuple(self.prompt(instance) for instance in islice(self.draw.instances(seed), count))

    def prompt(self, instance: Instance) -> Prompt:
        """Write the prompt of an instance."""
        steps = self.draw.style == "steps"
        text = compact_text(instance) if steps else words_text(instance, self.draw)
        return user_prompt(self.name, self.version, text, _facts(instance))

    def entry_openings(self, prompt: Prompt) -> Mapping[str, Sequence[str]]:
        """Return family -> texts that an answer of this family may begin with.

        In steps the family itself; in the expression style with and without an opening
        parenthesis, behind the answer tag.
        """
        if self.draw.style == "steps":
            return {step.entry: (step.entry,) for step in self._steps(prompt)}
        kept = self._solutions(prompt)
        entries = sorted(frozenset[str]().union(*(solution.entries for solution in kept)))
        return {entry: (f"<answer>{entry}", f"<answer>({entry}") for entry in entries}

    def solution_texts(self, prompt: Prompt, count: int, seed: int) -> Sequence[str]:
        """Return up to ``count`` right answers, one of each solution before a second of any.

        The expression style gives none: its answers stand behind free reasoning.
        """
        if self.draw.style != "steps":
            return ()
        by_solution: dict[str, list[str]] = {}
        for step in self._steps(prompt):
            by_solution.setdefault(step.solution, []).append(step.text)
        rng = random.Random(f"solution texts {seed} {prompt.key}")
        queues = [rng.sample(texts, len(texts)) for texts in by_solution.values()]
        rng.shuffle(queues)
        rounds = zip_longest(*queues)
        return tuple(text for one in rounds for text in one if text is not None)[:count]

    def gold_answers(self, prompt: Prompt) -> Sequence[str]:
        """Return right answers of up to three solutions, in the format that is asked for."""
        if self.draw.style == "steps":
            return self.solution_texts(prompt, 3, 0)
        texts = (f"<answer>{solution.text}</answer>" for solution in self._solutions(prompt))
        if self.draw.rule == "start" or self.draw.integers_only:
            said = self.verifier.verify  # a solution's canonical text need not obey these rules
            right = Outcome.CORRECT
            texts = (t for t in texts if said(prompt, Completion(text=t)).outcome is right)
        return tuple(islice(texts, 3))

    def _solutions(self, prompt: Prompt) -> list[Solution]:
        numbers, target = prompt.facts["numbers"], prompt.facts["target"]
        values = evaluate(tuple(numbers))
        found = solutions_at(numbers, values, target, integers_only=self.draw.integers_only)
        return sorted(qualifying(tuple(found), self.draw.rule, prompt.facts.get("start")))

    def _steps(self, prompt: Prompt) -> Iterator[StepText]:
        numbers, target = prompt.facts["numbers"], prompt.facts["target"]
        for step in step_texts(numbers, target, rationals=self.draw.rationals):
            allowed = self.draw.rule != "division" or "/" in step.solution
            start = prompt.facts.get("start")
            if allowed and (start is None or step.entry[:-1] == str(start)):
                yield step


def compact_text(instance: Instance) -> str:
    """Return ``"4,7,9=19:"``."""
    return f"{','.join(map(str, instance.numbers))}={instance.target}:"


def words_text(instance: Instance, draw: Draw) -> str:
    """Return the prompt in words; rules are stated, the format is shown on other numbers."""
    numbers = ", ".join(map(str, instance.numbers))
    rules = ["Use every number exactly once, and only +, -, * and / with parentheses."]
    if draw.integers_only:
        rules.append("Every intermediate result must be an integer.")
    if draw.rule == "division":
        rules.append("The expression must contain a division.")
    if draw.rule == "start":
        rules.append(f"The first number in the expression must be {instance.start}.")
    return (
        f"Make an arithmetic expression that equals {instance.target} from the numbers {numbers}. "
        f"{' '.join(rules)} Think step by step, then give the expression alone between <answer> "
        "and </answer>, as in <answer>(1 + 2) / 3</answer>."
    )


def _facts(instance: Instance) -> dict[str, Any]:
    solutions, families = len(instance.solutions), len(instance.entries)
    facts: dict[str, Any] = {
        "numbers": list(instance.numbers),
        "target": instance.target,
        "split_key": instance.key,
        "totals": {"solution": solutions, "entry": families},
        "difficulty": {"solutions": solutions, "families": families},
    }
    if instance.start is not None:
        facts["start"] = instance.start
    return facts
