"""Fuzzed answers through the reader, the checker and the verifier: no crash, no hang.

REWARDABLE_FUZZ=100000 pytest -m slow tests/slow/test_fuzz_math.py -s
"""

import os
import random
import sys
import time
from collections import Counter

import pytest

from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.math import MathVerifier

COUNT = int(os.environ.get("REWARDABLE_FUZZ", "100000"))
LIMIT_S = 2.0
START_S = 20.0
"""Allowance for starting the process anew after one was killed, on a busy machine."""

GOLDS = ("5", r"\frac{x+2}{7}", "(3,4]", "1,-2", r"\{1\pm\sqrt{5},-2\}", "x=5", r"\text{east}")
PIECES = (
    *"0123456789", *"+-*/^_=<>!|,;:.()[]{}$%&~'\"#@ \n", "\\", "x", "y", "n", "e", "i", "10", "-7",
    "1,000", "3.14", "1e9", r"\frac{1}{2}", r"\sqrt", r"\sqrt[3]{x}", r"\boxed{", r"\{", r"\}",
    r"\left(", r"\right]", r"\pm", r"\cup", r"\infty", r"\pi", r"\text{or}", r"\text{", "and", "or",
    r"\begin{pmatrix}", r"\end{pmatrix}", r"\\", r"\sum_{k=1}^{n}", r"\int_0^1", r"\lim_{x\to 0}",
    "(10^{9})!", "^{9^{9}}", r"\log", r"\sin x", r"\binom{n}{k}", r"\le", r"\approx", r"\mod", "∞",
    "−", "½", "日", "\u202e", "\x00", "answer is", "####", "</think>", r"^\circ", r"\dfrac", "NaN",
)  # fmt: skip


def text(rng):
    made = "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 24)))
    shape = rng.random()
    if shape < 0.6:
        return f"so \\boxed{{{made}}}"
    if shape < 0.7:
        return f"The answer is ${made}$."
    if shape < 0.72:
        return made * rng.randint(20, 400)
    return f"The answer is {made}"


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_no_answer_crashes_or_hangs_the_verifier(record_property, capsys):
    rng = random.Random(20240)
    verifiers = [
        MathVerifier(policy=policy, score=score, limit_s=LIMIT_S)
        for policy in ("strict", "lenient")
        for score in ("binary", "soft")
    ]
    outcomes, reasons, slowest = Counter(), Counter(), 0.0
    for i in range(COUNT):
        response, gold = text(rng), rng.choice(GOLDS)
        start = time.monotonic()
        found = verifiers[i % 4].verify(
            user_prompt("fuzz", "1", "q", {"answer": gold}), Completion(text=response)
        )
        seconds = time.monotonic() - start
        slowest = max(slowest, seconds)
        assert seconds < LIMIT_S + START_S, (gold, response)
        outcomes[found.outcome] += 1
        if found.outcome is Outcome.UNGRADED:
            reasons[found.reason.partition(": ")[2]] += 1
    record_property("outcomes", {str(outcome): n for outcome, n in outcomes.items()})
    with capsys.disabled():
        sys.stdout.write(f"{COUNT} answers: {outcomes}, slowest {slowest:.2f} s, {reasons}\n")
    assert outcomes[Outcome.UNGRADED] < COUNT / 100
