"""The data sets: read from files and folders, every reference right against itself."""

import pytest

from rewardable.errors import DataError
from rewardable.records import Completion, Outcome
from rewardable.tasks import load_task

SETS = [
    ("gsm8k", "gsm8k_test", 1319),
    ("math500", "math500_test", 500),
    ("minerva-math", "minerva_math_test", 272),
    ("olympiadbench", "olympiadbench_maths_en_test", 675),
    ("amc23", "amc23_test", 40),
    ("aime24", "aime24_test", 30),
    ("aime25", "aime25_test", 30),
]


@pytest.mark.parametrize(("name", "file", "count"), SETS)
def test_every_reference_is_right_against_itself(shared_data, name, file, count):
    path = shared_data / "data" / "math" / f"{file}.jsonl"
    task = load_task(f"{name}:path={path},policy=strict")
    prompts = task.prompts(count, 0)
    assert len({prompt.key for prompt in prompts}) == count
    assert task.prompts(5, 0) == prompts[:5]
    for prompt in prompts:
        right = Completion(text=f"Hence \\boxed{{{prompt.facts['answer']}}}.")
        assert task.verifier.verify(prompt, right).outcome is Outcome.CORRECT, prompt.facts
    with pytest.raises(DataError, match=f"{count} problems"):
        task.prompts(count + 1, 0)


def test_facts_and_options(shared_data):
    folder = shared_data / "data" / "math"
    prompt = load_task(f"math500:path={folder / 'math500_test.jsonl'}").prompts(1, 0)[0]
    assert prompt.facts["level"] in range(1, 6)
    assert prompt.facts["subject"]
    path = folder / "olympiadbench_maths_en_test.jsonl"
    task = load_task(f"olympiadbench:path={path},numerical=true")
    assert task.name == "olympiadbench:numerical=true"
    kept = task.prompts(572, 0)
    assert {prompt.facts["kind"] for prompt in kept} == {"Numerical"}
    assert [p.facts["tolerance"] for p in kept if "tolerance" in p.facts] == ["1/10"]
    asked = load_task(f"aime25:path={folder / 'aime25_test.jsonl'}").prompts(30, 0)
    assert all(prompt.text.count("boxed") == 1 for prompt in asked)


def test_names_say_the_policy():
    names = [
        load_task(spec).verifier.name
        for spec in ("gsm8k", "math500", "math500:policy=lenient,percent=value,score=soft")
    ]
    assert names == ["gsm8k-lenient-percent", "math500-strict-percent", "math500-lenient-soft"]
