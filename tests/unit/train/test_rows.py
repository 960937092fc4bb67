"""Gold answers as rows, tokens with the right end, recipes that cannot be meant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.records import Completion, Outcome, Prompt, user_prompt
from rewardable.tasks import load_task
from rewardable.train.rows import gold_rows
from rewardable.train.stages import DistillRecipe, DPORecipe, SFTRecipe, StageRecipe
from rewardable.train.tokens import encoder, end_token

INSTANCES = "countdown-steps:numbers=3,values=1-9"


def test_gold_rows_are_right_and_spread_over_solutions() -> None:
    task = load_task(INSTANCES)
    prompts = task.prompts(20, 0)
    seen: dict[str, Counter[str]] = {}
    for row in gold_rows(task, prompts, 4, 0):
        verdict = task.verifier.verify(row.prompt, Completion(text=row.text))
        assert verdict.outcome is Outcome.CORRECT
        seen.setdefault(row.prompt.key, Counter())[verdict.labels["solution"]] += 1
    for prompt in prompts:
        solutions = prompt.facts["totals"]["solution"]
        assert len(seen[prompt.key]) == min(4, solutions)


@dataclass
class Bare:
    name: str = "bare"
    version: str = "1"
    verifier: Any = None

    def prompts(self, count: int, seed: int) -> list[Prompt]:
        return [user_prompt("bare", "1", str(n)) for n in range(count)]


@dataclass
class Golden(Bare):
    answers: tuple[str, ...] = ("a", "b", "b", "c")

    def gold_answers(self, prompt: Prompt) -> tuple[str, ...]:
        return self.answers


def test_a_task_without_solutions_gives_its_gold_answers_once() -> None:
    task = Golden()
    rows = gold_rows(task, task.prompts(2, 0), 9, 0)
    assert Counter(row.text for row in rows) == {"a": 2, "b": 2, "c": 2}


def test_a_task_that_writes_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="no gold_answers"):
        gold_rows(Bare(), Bare().prompts(1, 0), 1, 0)
    with pytest.raises(DataError, match="no right answer"):
        gold_rows(Golden(answers=()), Bare().prompts(1, 0), 1, 0)


class Letters:
    """A tokenizer of letters; <e> is its end token, <t> ends a turn of its chat template."""

    eos_token_id = 0
    SPECIAL = ("<e>", "<t>", "<b>")

    def __init__(self, *, chat: bool) -> None:
        self.chat_template = "yes" if chat else None

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        ids = [2] if add_special_tokens else []
        while text:
            name = next((s for s in self.SPECIAL if text.startswith(s)), text[0])
            ids.append(self.SPECIAL.index(name) if name in self.SPECIAL else ord(name))
            text = text[len(name) :]
        return {"input_ids": ids}

    def apply_chat_template(self, turns: list[dict[str, str]], tokenize: bool, **more: Any) -> Any:
        text = "<b>" + "".join(f"{turn['role']}:{turn['content']}<t>\n" for turn in turns)
        text += "assistant:" if more.get("add_generation_prompt") else ""
        return self(text, add_special_tokens=False) if tokenize else text


def test_raw_prompts_and_the_end_token_once() -> None:
    told = encoder(Letters(chat=False), (0,))
    assert told.prompt(user_prompt("t", "1", "a")) == [2, ord("a")]
    assert told.completion("b") == [ord("b"), 0]
    assert told.completion("b<e>") == [ord("b"), 0]
    assert told.completion("b", ended=False) == [ord("b")]


def test_chat_answers_end_as_the_template_writes_if_sampling_stops_there() -> None:
    chat = Letters(chat=True)
    assert end_token(chat, (0, 1)) == 1
    assert end_token(chat, (0,)) == 0  # sampling would run past <t>
    assert encoder(chat, (0, 1)).completion("b") == [ord("b"), 1]
    prompt = encoder(chat, (0, 1)).prompt(user_prompt("t", "1", "a"))
    assert prompt.count(2) == 1
    assert prompt[-1] == ord(":")


@pytest.mark.parametrize(
    ("build", "change", "said"),
    [
        (StageRecipe, {"steps": 0}, "steps"),
        (SFTRecipe, {"answers_per_prompt": 0}, "answers_per_prompt"),
        (SFTRecipe, {"batch": 8, "micro_batch": 3}, "micro_batch"),
        (SFTRecipe, {"learning_rate": 0.0}, "learning_rate"),
        (SFTRecipe, {"trl": {"max_steps": 3}}, "max_steps"),
        (DPORecipe, {"beta": 0.0}, "beta"),
        (DPORecipe, {"pairs_per_prompt": 0}, "pairs_per_prompt"),
        (DistillRecipe, {"divergence": 1.5}, "divergence"),
        (DistillRecipe, {"temperature": 0.0}, "temperature"),
    ],
)
def test_recipes_that_cannot_be_meant_are_refused(build: Any, change: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(**change)
