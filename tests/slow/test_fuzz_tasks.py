"""Random answers through every parser: no crash, no hang, a verdict each time.

$REWARDABLE_FUZZ gives the number of answers (100,000 without it).
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable

import pytest

from rewardable.records import Completion, Outcome, Prompt, Verdict
from rewardable.tasks import load_task
from rewardable.tasks.code.box.wire import NotPlainError, decode, encode
from rewardable.tasks.code.extract import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200)]

ANSWERS = int(os.environ.get("REWARDABLE_FUZZ", "100000"))
SLOWEST_S = 2.0

PIECES = [
    *"{}[]()\"'\\:,;=<>|*#`-+._ \n\t0123456789", "YES", "no", "NO.", "<think>", "</think>",
    '{"city": "Quito", "nights": 3}', '{"a":', '{"a":{"a":', '"nights": 1e999', "NaN", "Infinity",
    "null", "true", "city: Quito\n", "**Nights** = 3\n", "1: A, D => B\n", "2: B => C\n", "-> C",
    "```python\n", "```\n", "def total(xs):\n", "    return sum(xs)\n", "total = ", "import os\n",
    "~~~", "async def ", "I can't ", "sorry, but ", "help", "9" * 5000, "\\u0000", "\x00", "\ud835",
    "\u202e", "\u2028", "é", "\u0661", "\N{RIGHT SINGLE QUOTATION MARK}", "a" * 300, " " * 300,
    "\\boxed{", "<answer>", "</answer>", "2024-02-30", "5 March 2024", "1/0", "−",
]  # fmt: skip
LONG = [piece * (60_000 // len(piece)) for piece in PIECES]


def answers(rng: random.Random, count: int):
    yield from LONG
    for _ in range(count - len(LONG)):
        yield "".join(rng.choices(PIECES, k=int(rng.expovariate(1 / 12)) + 1))


def _judge(spec: str, **facts: object) -> Callable[[str], object]:
    task = load_task(spec)
    prompt = task.prompts(1, 0)[0]
    if facts:
        prompt = Prompt(task="fuzz", task_version="1", messages=prompt.messages, facts=facts)

    def judge(text: str) -> Verdict:
        verdict = task.verifier.verify(prompt, Completion(text=text))
        assert verdict.outcome is not Outcome.UNGRADED, verdict.reason
        return verdict

    return judge


BOOKING = {"fields": {"city": "Quito", "nights": 3, "date": "2024-03-05", "tags": ["a"]}}
DERIVATION = {"given": ["A", "D"], "rules": ["A, D => B", "B => C"], "goal": "C"}


@pytest.mark.parametrize(
    ("spec", "facts"),
    [
        ("divisible", {}),
        ("divisible:policy=lenient", {}),
        ("refusal", {}),
        ("extraction", BOOKING),
        ("extraction:policy=lenient", BOOKING),
        ("logic-steps", DERIVATION),
        ("logic-steps:policy=lenient", DERIVATION),
    ],
)
def test_verdicts(spec, facts):
    _all(_judge(spec, **facts))


def test_programs():
    _all(lambda text: program_of(text, "total", "def total(xs):\n    '''Add.'''\n"))


def test_replies():
    def read(text: str) -> None:
        try:
            decode(json.loads(text))
        except (ValueError, RecursionError, NotPlainError):
            return

    _all(read)
    rng = random.Random(3)
    for _ in range(ANSWERS // 10):
        tagged = json.dumps(encode([1, 2.5, "a", {"b": (None, {3})}, b"c", 1j]))
        place = rng.randrange(len(tagged))
        read(tagged[:place] + rng.choice(PIECES)[:20] + tagged[place + 1 :])


def _all(judge: Callable[[str], object]) -> None:
    longest = 0.0
    for text in answers(random.Random(11), ANSWERS):
        start = time.perf_counter()
        judge(text)
        longest = max(longest, time.perf_counter() - start)
        assert longest < SLOWEST_S, text[:200]
