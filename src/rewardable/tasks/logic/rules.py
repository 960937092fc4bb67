"""Rules over letters, what follows from facts, and all proofs of a goal."""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_RULE = re.compile(r"([A-Z](?:, [A-Z])*) => ([A-Z])")


@dataclass(frozen=True, slots=True)
class Rule:
    """When all ``premises`` are known, ``conclusion`` is."""

    premises: tuple[str, ...]
    conclusion: str

    def __str__(self) -> str:
        return f"{', '.join(self.premises)} => {self.conclusion}"


def read_rule(text: str) -> Rule | None:
    """Read ``A, D => B``; None for anything else."""
    match = _RULE.fullmatch(text)
    return Rule(tuple(match[1].split(", ")), match[2]) if match else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """Facts, numbered rules (the first is 1) and the goal."""

    facts: tuple[str, ...]
    rules: tuple[Rule, ...]
    goal: str


def follows(instance: Instance, chosen: Collection[int]) -> dict[str, int]:
    """Return what the chosen rules derive, each with the round in which it first can be."""
    known = dict.fromkeys(instance.facts, 0)
    for depth in range(1, len(instance.rules) + 1):
        new = {
            instance.rules[i - 1].conclusion
            for i in chosen
            if all(premise in known for premise in instance.rules[i - 1].premises)
        } - set(known)
        if not new:
            break
        known |= dict.fromkeys(new, depth)
    return known


def proofs(instance: Instance) -> list[frozenset[int]]:
    """Return every set of rules that proves the goal and of which none can be left out."""
    found = {
        frozenset(chosen.values())
        for chosen in _choices(instance, {}, (instance.goal,))
        if instance.goal in follows(instance, set(chosen.values()))
    }
    return sorted(found, key=sorted)


def _choices(
    instance: Instance, chosen: Mapping[str, int], wanted: tuple[str, ...]
) -> Iterator[Mapping[str, int]]:
    """Yield every way to choose one rule for each letter that the goal comes to need."""
    open_letters = [x for x in wanted if x not in chosen and x not in instance.facts]
    if not open_letters:
        yield chosen
        return
    letter = open_letters[0]
    for number, rule in enumerate(instance.rules, start=1):
        if rule.conclusion == letter:
            more = (*open_letters[1:], *rule.premises)
            yield from _choices(instance, {**chosen, letter: number}, more)


def entries(instance: Instance, found: Sequence[frozenset[int]]) -> frozenset[int]:
    """Return the rules with which a proof can begin."""
    facts = set(instance.facts)
    return frozenset(
        number for proof in found for number in proof
        if facts.issuperset(instance.rules[number - 1].premises)
    )  # fmt: skip


def written(instance: Instance, proof: Collection[int]) -> str:
    """Write a proof as steps in an order in which each can be made."""
    depth = follows(instance, proof)
    order = sorted(proof, key=lambda i: (depth[instance.rules[i - 1].conclusion], i))
    return "\n".join(f"{i}: {instance.rules[i - 1]}" for i in order)


def draw_instance(rng: random.Random, letters: int, n_rules: int) -> Instance:
    """Draw facts, rules and a goal; whether the goal follows is not known."""
    names = list(LETTERS[:letters])
    rng.shuffle(names)
    n_facts = rng.randint(2, 3)
    facts, others = names[:n_facts], names[n_facts:]
    rules: dict[Rule, None] = {}
    while len(rules) < n_rules:
        conclusion = rng.choice(others)
        sources = [name for name in names if name != conclusion]
        premises = rng.sample(sources, rng.randint(1, 2))
        rules[Rule(tuple(sorted(premises)), conclusion)] = None
    return Instance(facts=tuple(sorted(facts)), rules=tuple(rules), goal=rng.choice(others))
