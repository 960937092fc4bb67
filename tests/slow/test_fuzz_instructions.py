"""Fuzzed responses through every instruction checker and joint verifier: no crash, no hang.

REWARDABLE_FUZZ=100000 pytest -m slow tests/slow/test_fuzz_instructions.py -s
"""

import os
import random
import resource
import sys
import time
from collections import Counter

import pytest

from rewardable.records import Completion, user_prompt
from rewardable.tasks.ifollow import InstructionVerifier, instruction
from rewardable.tasks.ifollow.kinds import KINDS
from rewardable.tasks.ifollow.loose import judged
from rewardable.tasks.joint.answers import TagVerifier

COUNT = int(os.environ.get("REWARDABLE_FUZZ", "100000"))
LIMIT_S = 5.0
MORE_MEMORY = 512 * 2**20

VALUES = {
    "capital_frequency": 3, "capital_relation": "at least", "prompt_to_repeat": "Say (a) word.",
    "num_placeholders": 2, "postscript_marker": "P.S.", "section_spliter": "PART (",
    "num_sections": 2, "num_bullets": 2, "num_highlights": 2, "keywords": ["a+b", "(x"],
    "forbidden_words": ["a|b", "*"], "relation": "less than", "keyword": "c[", "frequency": 2,
    "letter": "#", "let_relation": "exactly", "let_frequency": 3, "language": "en",
    "num_paragraphs": 2, "nth_paragraph": 2, "first_word": "x", "num_sentences": 3,
    "num_words": 9, "end_phrase": "end.", "N": 2, "small_n": 2, "min_words": 1, "max_words": 9,
    "keyword1": "a", "keyword2": "b", "keyword3": "c", "keyword4": "d", "keyword5": "e",
    "sep": "!?!?", "options": "(a), (b), (c)", "percentage": 40, "reference_text": "abc abc",
    "n_start": 0, "n_end": 1, "word": "x", "n": 1, "m": 1,
}  # fmt: skip
PIECES = (
    *"0123456789 \n\t.,!?;:'\"`()[]{}<>*-_#$%&/\\|~^@", "word", "Word", "WORD", "e.g.", "Dr.",
    "* ", "- ", "***", "******", "<<", ">>", "[x]", "SECTION 1", "P.S.", "```json", "```",
    "{\"a\":",
    "<think>", "</think>", "<answer>", "</answer>", "\\boxed{", "don't", "U.S.", "http://x.y",
    "a@b.c", "😀", "\ufe0f", "\u200d", "“", "”", "。", "日本", "语",
    "слово", "كلمة", "שלום", "क", "İ",
    "ß", "\u202e", "\x00", "\ud800", "\u0300",
    "\r", "\x0b", "\u2028", "Question 1", "A) x",
    "2020-01-31", ",".join("abcde"), '"""',
)  # fmt: skip


def text(rng):
    made = "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 40)))
    shape = rng.random()
    if shape < 0.01:
        return made * rng.randint(20, 400)
    if shape < 0.02:
        return rng.choice(PIECES) * 60_000
    if shape < 0.3:
        return " ".join(rng.choice(PIECES) for _ in range(rng.randint(0, 60)))
    return made


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_no_response_crashes_or_hangs_a_checker(capsys):
    rng = random.Random(20241)
    asked = [
        instruction(name, {key: VALUES[key] for key in kind.reads}) for name, kind in KINDS.items()
    ]
    facts = {"instructions": ["punctuation:no_comma", "detectable_format:json_format"]}
    prompt = user_prompt("fuzz", "1", "q", facts | {"answer": "5", "kind": "number"})
    verifiers = [
        InstructionVerifier(scope="reasoning"), InstructionVerifier(mode="loose"), TagVerifier(),
    ]  # fmt: skip
    for one in asked:
        one.holds("warm up")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    followed, slowest = Counter(), (0.0, "", "")
    for i in range(COUNT):
        response = text(rng)
        for one in asked:
            start = time.process_time()
            followed[one.id] += one.holds(response)
            slowest = max(slowest, (time.process_time() - start, one.id, repr(response[:40])))
        strict, loose = judged(asked[i % len(asked)], response)
        assert loose >= strict
        verifiers[i % 3].verify(prompt, Completion(text=response))
        assert slowest[0] < LIMIT_S, slowest
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - memory
    with capsys.disabled():
        sys.stdout.write(
            f"{COUNT} responses, {len(asked)} checkers, slowest {slowest}, {more / 2**20:.0f} MiB "
            f"more, {sum(n > 0 for n in followed.values())} kinds followed at least once\n"
        )
    assert more < MORE_MEMORY
