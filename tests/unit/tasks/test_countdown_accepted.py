"""The listed texts are those that the verifier accepts: no more, no fewer."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, Prompt, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.countdown import CountdownVerifier, accepted_texts

INSTANCES = "numbers=4,values=1-10,targets=10-50,max_solutions=12"
ALPHABET = "0123456789+-*/=,:"


def is_accepted(verifier: CountdownVerifier, prompt: Prompt, text: str) -> bool:
    return verifier.verify(prompt, Completion(text=text)).outcome is Outcome.CORRECT


@pytest.mark.parametrize(
    ("numbers", "target", "characters", "expected"),
    [
        ([2, 3], 6, "236*=,", {"2*3=6", "3*2=6"}),
        ([4, 4], 0, "04-=,", {"4-4=0"}),
        ([6, 2], 3, "236/=,", {"6/2=3"}),
    ],
)
def test_every_accepted_string_is_listed(
    numbers: list[int], target: int, characters: str, expected: set[str]
) -> None:
    facts = {"numbers": numbers, "target": target}
    prompt = user_prompt("countdown-steps", "1", "", facts)
    verifier = CountdownVerifier(style="steps")
    found = {
        text
        for length in range(1, 7)
        for text in map("".join, product(characters, repeat=length))
        if is_accepted(verifier, prompt, text)
    }
    assert found == expected == {each.text for each in accepted_texts(verifier, prompt)}


@pytest.mark.parametrize(
    "name", ["countdown-steps", "countdown-steps-start", "countdown-steps-division"]
)
def test_every_change_of_one_character_is_judged_as_listed(name: str) -> None:
    task = load_task(f"{name}:{INSTANCES}")
    prompt = min(task.prompts(8, 1), key=lambda each: len(accepted_texts(task.verifier, each)))
    listed = {each.text for each in accepted_texts(task.verifier, prompt)}
    changed: set[str] = set()
    for text in listed:
        for i in range(len(text) + 1):
            changed |= {text[:i] + c + text[i:] for c in ALPHABET}
            changed |= {text[:i] + c + text[i + 1 :] for c in (*ALPHABET, "")}
    assert {text for text in changed if is_accepted(task.verifier, prompt, text)} <= listed
    assert len(changed) > 500 * len(listed) > 0


def test_a_rule_leaves_fewer_texts_and_their_labels() -> None:
    task = load_task(f"countdown-steps-start:{INSTANCES}")
    free = load_task(f"countdown-steps:{INSTANCES}")
    fewer = 0
    for prompt in task.prompts(6, 0):
        ruled = set(accepted_texts(task.verifier, prompt))
        every = set(accepted_texts(free.verifier, prompt))
        start = str(prompt.facts["start"])
        assert ruled == {each for each in every if each.entry[:-1] == start}
        fewer += ruled != every
    assert fewer > 0


def test_texts_that_cannot_be_listed_are_refused() -> None:
    expression, steps = load_task("countdown"), load_task(f"countdown-steps:{INSTANCES}")
    with pytest.raises(ConfigError, match="cannot be listed"):
        accepted_texts(expression.verifier, expression.prompts(1, 0)[0])
    with pytest.raises(DataError, match="no numbers"):
        accepted_texts(steps.verifier, replace(steps.prompts(1, 0)[0], facts={}))
