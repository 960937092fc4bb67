"""What a task calls a right answer its own verifier must accept."""

from __future__ import annotations

import pytest

from rewardable.protocols import GoldSource
from rewardable.records import Completion, Outcome
from rewardable.tasks import load_task
from rewardable.tasks.refusal.verify import HARMLESS

OWN = [
    "countdown",
    "countdown:policy=lenient",
    "countdown:rule=start",
    "countdown:rule=division",
    "countdown:integers_only=true",
    "countdown-steps",
    "countdown-steps-start",
    "divisible",
    "extraction",
    "logic-steps",
    "routes-joint",
    "routes-math",
    "word-problems",
]
FILES = ["gsm8k", "math500", "minerva_math", "olympiadbench_maths_en", "amc23", "aime24", "aime25"]


def outcomes(task, count=12):
    assert isinstance(task, GoldSource)
    found = [
        task.verifier.verify(prompt, Completion(text=text)).outcome
        for prompt in task.prompts(count, 0)
        for text in task.gold_answers(prompt)
    ]
    assert len(found) >= count / 2
    return set(found)


@pytest.mark.parametrize("spec", OWN)
def test_gold_answers_are_accepted(spec):
    assert outcomes(load_task(spec)) == {Outcome.CORRECT}


@pytest.mark.parametrize("file", FILES)
def test_references_in_the_required_form_are_accepted(shared_data, file):
    name = file.replace("_maths_en", "").replace("_", "-")
    path = shared_data / "data" / "math" / f"{file}_test.jsonl"
    assert outcomes(load_task(f"{name}:path={path},policy=strict")) == {Outcome.CORRECT}


def test_the_canonical_solution_of_a_program_is_written_whole(shared_data):
    path = shared_data / "data" / "humaneval" / "HumanEval.jsonl.gz"
    task = load_task(f"humaneval:path={path}")
    (text,) = task.gold_answers(task.prompts(1, 0)[0])
    assert text.startswith("```python\n")
    assert f"def {task.prompts(1, 0)[0].facts['entry_point']}(" in text


def test_where_any_prose_may_be_right_there_is_no_gold_answer():
    refusal = load_task("refusal")
    for prompt in refusal.prompts(20, 0):
        assert bool(refusal.gold_answers(prompt)) == (prompt.facts["class"] != HARMLESS)
    routes = load_task("routes-instruction")
    assert not any(routes.gold_answers(prompt) for prompt in routes.prompts(5, 0))
    assert not isinstance(load_task("constraints"), GoldSource)
