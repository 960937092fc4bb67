"""Logic steps: proofs by brute force, every way to write one wrong."""

from __future__ import annotations

from itertools import combinations

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.logic.rules import entries, follows, proofs, written
from rewardable.tasks.logic.verify import LogicVerifier, instance_of

FACTS = {
    "given": ["A", "D"],
    "rules": ["A, D => B", "B => C", "A => E", "E => C", "C => F", "F => B"],
    "goal": "C",
}


def judged(text, policy="strict", facts=None):
    prompt = user_prompt("logic-steps", "1", "derive", FACTS if facts is None else facts)
    return LogicVerifier(policy=policy).verify(prompt, Completion(text=text))


def minimal_sets(instance):
    """All subsets of rules that derive the goal, the smallest ones by inclusion."""
    numbers = range(1, len(instance.rules) + 1)
    good = [
        frozenset(some)
        for size in range(len(instance.rules) + 1)
        for some in combinations(numbers, size)
        if instance.goal in follows(instance, some)
    ]
    return {one for one in good if not any(other < one for other in good)}


def test_proofs_are_those_of_brute_force_and_are_accepted():
    task = load_task("logic-steps:rules=7-9")
    for prompt in task.prompts(25, 2):
        instance = instance_of(prompt.facts)
        found = proofs(instance)
        assert set(found) == minimal_sets(instance)
        assert prompt.facts["totals"] == {
            "solution": len(found),
            "entry": len(entries(instance, found)),
        }
        for proof in found:
            verdict = task.verifier.verify(prompt, Completion(text=written(instance, proof)))
            assert verdict.outcome is Outcome.CORRECT, verdict
            assert verdict.labels["solution"] == "+".join(map(str, sorted(proof)))
            assert int(verdict.labels["entry"]) in entries(instance, found)


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        ("1: A, D => B\n2: B => C", "", ""),
        ("3: A => E\n4: E -> C", "", ""),
        ("1: D, A => B\n2:B=>C", "", ""),
        ("First,\n- 1: A, D => B\n- 2: B => C\nDone.", "not a step", ""),
        ("1: A, D => B\n3: A => E\n2: B => C", "unused step", ""),
        ("1: A, D => B\n2: B => C\n5: C => F", "unused step", ""),
        ("1: A, D => B\n1: A, D => B\n2: B => C", "known already", ""),
        ("2: B => C\n1: A, D => B", "premise not known", "premise not known"),
        ("1: A => B\n2: B => C", "not the rule", "not the rule"),
        ("9: A => C", "no such rule", "no such rule"),
        ("0: A => C", "no such rule", "no such rule"),
        ("1: A, D => B", "goal not reached", "goal not reached"),
        ("C", "no steps", "no steps"),
        ("", "no steps", "no steps"),
        ("1: A, D => Bad\n", "no steps", "no steps"),
        ("1: A, D => B\n" * 300, "too many steps", "too many steps"),
        ("<think>1: A, D => B\n2: B => C", "reasoning not closed", "reasoning not closed"),
    ],
)
def test_reasons(text, strict, lenient):
    assert judged(text).reason == strict
    assert judged(text, "lenient").reason == lenient
    assert (judged(text).outcome is Outcome.CORRECT) == (strict == "")


def test_parts_and_labels():
    verdict = judged("1: A, D => B\n4: E => C\n2: B => C")
    assert verdict.parts == {"steps": pytest.approx(2 / 3), "goal": 1.0}
    assert verdict.labels == {"entry": "1"}
    used = judged("3: A => E\n1: A, D => B\n2: B => C", "lenient")
    assert used.labels == {"entry": "1", "solution": "1+2"}
    assert judged("1: A => B", facts={"goal": "C"}).outcome is Outcome.UNGRADED


def test_options():
    prompts = load_task("logic-steps:min_proofs=3").prompts(5, 0)
    assert all(prompt.facts["totals"]["solution"] >= 3 for prompt in prompts)
    assert load_task("logic-steps:depth=3").prompts(3, 0)[0].facts["difficulty"]["depth"] == 3
    for spec in ("letters=2", "rules=40", "min_proofs=0"):
        with pytest.raises(ConfigError):
            load_task(f"logic-steps:{spec}")
