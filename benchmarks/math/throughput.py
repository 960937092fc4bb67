"""Verdicts a second, and the same verdicts? The lenient verifier against a plain Math-Verify loop.

    python benchmarks/math/throughput.py [--answers 20000] [--shared ../shared] [--seed 0]

The answers are drawn from real samples: 100 MATH problems x 8 and 300 GSM8K problems x 4. The
plain loop is ``verify(parse(gold), parse(response))`` with the library's defaults. A draw repeats
(reference, answer) pairs as often as many samples a prompt do; the line "distinct" is what no
repetition is left of. Differing verdicts are listed, one line a pair.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import time
from collections import Counter
from pathlib import Path

from math_verify import parse, verify

from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.math.verify import MathVerifier, decide

Sample = tuple[str, str, str]
"""Data set, reference, response."""


def samples(shared: Path) -> list[Sample]:
    found: list[Sample] = []
    for line in (shared / "data/rollouts/qwen25math_math_100x8.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        found += [("math", row["gt"], text) for text in row["code"]]
    path = shared / "data/math/gsm8k_example_model_solutions_first300.jsonl"
    for line in path.open(encoding="utf-8"):
        row = json.loads(line)
        gold = row["ground_truth"].rpartition("A:")[2].strip().replace(",", "")
        models = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
        found += [("gsm8k", gold, row[model]["solution"]) for model in models]
    return found


def plain(rows: list[Sample]) -> list[bool]:
    logging.disable(logging.ERROR)
    made = []
    for data, gold, text in rows:
        reference = parse(gold if data == "gsm8k" else f"${gold}$")
        made.append(bool(verify(reference, parse(text))))
    return made


VERIFIERS = {
    "gsm8k": MathVerifier(base="gsm8k", form="hash", percent="either"),
    "math": MathVerifier(percent="either"),
}


def ours(rows: list[Sample]) -> list[Outcome]:
    made = []
    for data, gold, text in rows:
        prompt = user_prompt("bench", "1", "q", {"answer": gold})
        made.append(VERIFIERS[data].verify(prompt, Completion(text=text)).outcome)
    return made


def compare(title: str, rows: list[Sample]) -> None:
    start = time.perf_counter()
    expected = plain(rows)
    plain_s = time.perf_counter() - start
    decide.cache_clear()
    start = time.perf_counter()
    found = ours(rows)
    our_s = time.perf_counter() - start
    print(
        f"{title}: {len(rows)} answers, {len(set(rows))} distinct texts, "
        f"{decide.cache_info().currsize} distinct (reference, answer) pairs"
    )
    print(f"  plain Math-Verify {plain_s:8.2f} s   {len(rows) / plain_s:9.0f} a second")
    print(f"  rewardable        {our_s:8.2f} s   {len(rows) / our_s:9.0f} a second")
    print(f"  ratio {plain_s / our_s:.1f}")
    differ = Counter(
        row
        for row, want, got in zip(rows, expected, found, strict=True)
        if want != (got is Outcome.CORRECT)
    )
    print(f"  differing verdicts: {differ.total()} of {len(rows)}, {len(differ)} distinct texts")
    for (data, gold, text), n in differ.most_common():
        print(f"    {n:4d} x {data} reference {gold!r}, response ends {text[-90:]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=20_000)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    pool = samples(options.shared)
    ours(pool[:1])
    compare("distinct", pool)
    compare("drawn", random.Random(options.seed).choices(pool, k=options.answers))


if __name__ == "__main__":
    main()
