"""Paraphrases: enough of them for every task, the same gold, numbers and code untouched."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from rewardable.errors import ConfigError
from rewardable.protocols import Task
from rewardable.records import Completion, Message, Outcome, Prompt, user_prompt
from rewardable.tasks import load_task, task_names
from rewardable.tasks.perturb import KINDS, PROTECTED, WRITERS, paraphrased, perturb
from rewardable.tasks.perturb.wording import in_words, spaced, whitespace, wrapped

FILES = {
    "aime24": "math/aime24_test.jsonl",
    "aime25": "math/aime25_test.jsonl",
    "amc23": "math/amc23_test.jsonl",
    "gsm8k": "math/gsm8k_test.jsonl",
    "math500": "math/math500_test.jsonl",
    "minerva-math": "math/minerva_math_test.jsonl",
    "olympiadbench": "math/olympiadbench_maths_en_test.jsonl",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
    "ifeval": "ifeval/ifeval_input_data.jsonl",
    "ifbench": "ifbench/IFBench_test.jsonl",
    "mathif": "mathif",
    "reasonif": "reasonif/reasonIF_dataset_without_gpqa.json",
}
COMPACT = ("countdown-steps", "countdown-steps-division", "countdown-steps-start",
           "routes-math", "routes-instruction", "routes-joint")  # fmt: skip
GENERATED = [name for name, _ in task_names() if name not in FILES and name not in COMPACT]
VARIANTS = [
    "countdown:rule=start",
    "countdown:integers_only=true,rule=division,numbers=4",
    "divisible:by=9,numbers=10-99",
    "logic-steps:letters=5,rules=5-6,depth=1-3",
]
COUNT = 12


def by_source(prompts: Sequence[Prompt]) -> dict[str, list[Prompt]]:
    found: dict[str, list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        found[prompt.facts["paraphrase_of"]].append(prompt)
    return found


def gold(prompt: Prompt) -> dict[str, object]:
    changing = ("paraphrase", "paraphrase_of", "cluster", "expression")
    return {name: value for name, value in prompt.facts.items() if name not in changing}


def check(task: Task, least: int = 5, count: int = COUNT) -> list[Prompt]:
    """Check what holds of every task's paraphrases; return all prompts."""
    plain = task.prompts(count, 0)
    prompts = list(perturb(task, 5).prompts(count, 0))
    assert len({prompt.key for prompt in prompts}) == len(prompts)
    groups = by_source(prompts)
    assert list(groups) == [prompt.key for prompt in plain]
    for source, (key, group) in zip(plain, groups.items(), strict=True):
        assert group[0].text == source.text
        assert group[0].key == key
        assert [p.facts["paraphrase"] for p in group].count("original") == 1
        assert {p.facts["paraphrase"] for p in group[1:]} <= set(KINDS)
        assert least <= len(group) - 1 <= 5
        assert all(gold(prompt) == gold(source) for prompt in group)
        assert all(prompt.facts["cluster"] == source.facts.get("cluster", key) for prompt in group)
        assert all(prompt.task == source.task for prompt in group)
        assert_gold_answers_hold(task, group)
    return prompts


def assert_gold_answers_hold(task: Task, group: Sequence[Prompt]) -> None:
    if task.name.startswith(("humaneval", "joint")) or not hasattr(task, "gold_answers"):
        return
    for prompt in group[:3]:
        for text in task.gold_answers(group[0] if "expression" not in prompt.facts else prompt)[:1]:
            verdict = task.verifier.verify(prompt, Completion(text=text))
            assert verdict.outcome is Outcome.CORRECT, (prompt.text, text, verdict.reason)


@pytest.mark.parametrize("spec", [*GENERATED, *VARIANTS])
def test_generated_tasks_have_five_paraphrases_a_prompt(spec: str) -> None:
    check(load_task(spec))


@pytest.mark.parametrize("name", sorted(FILES))
def test_tasks_from_files_have_five_paraphrases_a_prompt(name: str, shared_data: Path) -> None:
    check(load_task(f"{name}:path={shared_data / 'data' / FILES[name]}"))


@pytest.mark.parametrize("name", COMPACT)
def test_compact_tasks_change_the_order_alone(name: str) -> None:
    prompts = check(load_task(name), least=0, count=30)
    for group in by_source(prompts).values():
        assert {p.facts["paraphrase"] for p in group[1:]} <= {"operand order"}
        source = Counter(re.findall(r"[0-9]+|[^0-9+]", group[0].text))
        for prompt in group[1:]:
            assert Counter(re.findall(r"[0-9]+|[^0-9+]", prompt.text)) == source


def test_three_different_numbers_have_exactly_five_other_orders() -> None:
    for group in by_source(check(load_task("countdown-steps"), least=0, count=30)).values():
        distinct = len(set(group[0].facts["numbers"]))
        assert len(group) - 1 == {3: 5, 2: 2, 1: 0}[distinct]


def test_every_task_of_the_catalog_has_a_writer() -> None:
    assert set(WRITERS) == {name for name, _ in task_names()}


@pytest.mark.parametrize("name", ["countdown", "divisible", "word-problems"])
def test_words_orders_spaces_and_a_second_language_are_among_the_first_five(name: str) -> None:
    group = next(iter(by_source(perturb(load_task(name), 5).prompts(1, 0)).values()))
    assert {prompt.facts["paraphrase"] for prompt in group[1:]} == set(KINDS)


def test_chosen_kinds_alone_and_counts_that_cannot_be_meant() -> None:
    task = load_task("word-problems")
    prompts = perturb(task, 2, ("second language", "number words")).prompts(3, 0)
    kinds = {prompt.facts["paraphrase"] for prompt in prompts}
    assert kinds == {"original", "second language", "number words"}
    with pytest.raises(ConfigError, match="Did you mean 'whitespace'"):
        paraphrased(task, prompts, 1, ("whitespaces",))
    with pytest.raises(ConfigError, match="at least 0"):
        paraphrased(task, prompts, -1)
    assert paraphrased(task, prompts, 0) == prompts


PROSE = ("Say 'it is 3.5' now. Then write \"a  b c\" and `x = 1` or $x + 1$ of 1,000 apples. Use "
         "<b>two words</b> and \\boxed{a b}, not 12. See https://a.b/c d! Is it? Don't. "
         "```\ncode  here. And more\n``` The end. It is.\n- a list line. Not to wrap\n"
         "    indented code. Never wrapped at all even though it is long")  # fmt: skip


def pieces(text: str) -> list[str]:
    return [match.group() for match in PROTECTED.finditer(text)]


def test_spaces_touch_neither_numbers_code_nor_quotations() -> None:
    rng = random.Random(2)
    parts = PROSE.split(". ")
    for _ in range(60):
        text = ". ".join(rng.sample(parts, len(parts)))
        for wording in whitespace(text):
            assert pieces(wording.text) == pieces(text)
            assert wording.text.split() == text.split()
    assert spaced("Go on. Do it.") == "Go on.  Do it."
    assert wrapped("aaa bbb ccc ddd", 7) == "aaa bbb\nccc ddd"
    assert wrapped("- aaa bbb ccc", 7) == "- aaa bbb ccc"


def test_prompts_to_be_repeated_word_for_word_keep_their_inside() -> None:
    facts = {"instructions": ["combination:repeat_prompt"], "kwargs": [{}]}
    prompt = user_prompt("ifeval", "1", PROSE, facts)
    task = SimpleNamespace(name="ifeval")
    for other in paraphrased(task, [prompt], 5):  # type: ignore[arg-type]
        assert other.text.strip() == PROSE


def test_only_the_last_turn_changes() -> None:
    turns = (
        Message(role="system", content="Be brief. Be kind."),
        Message(role="user", content="Hi. Go."),
    )
    prompt = Prompt(task="mine", task_version="1", messages=turns)
    found = paraphrased(SimpleNamespace(name="mine"), [prompt], 5)  # type: ignore[arg-type]
    assert len(found) == 6
    assert {other.messages[0] for other in found} == {turns[0]}


@dataclass(frozen=True)
class Mine:
    """A task of a user's own that words its prompts itself."""

    name: str = "mine"

    def paraphrases(self, prompt: Prompt) -> Sequence[tuple[str, str]]:
        return (("template", f"Please: {prompt.text}"), ("template", prompt.text))


def test_a_task_may_word_its_own_prompts() -> None:
    prompt = user_prompt("mine", "1", "add 2 and 2", {"answer": "4"})
    found = paraphrased(Mine(), [prompt], 5)  # type: ignore[arg-type]
    assert [other.text for other in found] == ["add 2 and 2", "Please: add 2 and 2"]


def test_a_wording_that_is_another_source_is_left_out() -> None:
    facts = {"numbers": [1, 2, 3], "target": 6}
    sources = [
        user_prompt("countdown-steps", "1", text, facts) for text in ("1,2,3=6:", "2,1,3=6:")
    ]
    task = SimpleNamespace(name="countdown-steps")
    found = paraphrased(task, sources, 5)  # type: ignore[arg-type]
    assert len({prompt.key for prompt in found}) == len(found) == 6


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "zero"), (13, "thirteen"), (40, "forty"), (99, "ninety-nine"), (100, "one hundred"),
     (305, "three hundred and five"), (1000, "one thousand"), (1005, "one thousand and five"),
     (21_640, "twenty-one thousand six hundred and forty"), (2_000_000, "2000000")],
)  # fmt: skip
def test_numbers_in_words(number: int, words: str) -> None:
    assert in_words(number) == words
