"""Public bug reports about mathematics graders, by id."""

import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.math import MathVerifier


def outcome(policy, gold, response):
    prompt = user_prompt("t", "1", "q", {"answer": gold})
    return MathVerifier(policy=policy).verify(prompt, Completion(text=response))


@pytest.mark.parametrize(
    ("case_id", "policies"),
    [
        ("M01", ("strict", "lenient")),
        ("M02", ("strict",)),
        ("M03", ("strict", "lenient")),
        ("M04", ("lenient",)),
        ("M05", ("lenient",)),
        ("M09", ("lenient",)),
    ],
)
def test_reported_cases(cases, case_id, policies):
    case = cases[case_id]
    for row, expected in zip(case["input"]["rows"], case["expected"]["rows"], strict=True):
        for policy in policies:
            found = outcome(policy, row["ref"], row["resp"])
            wanted = Outcome.CORRECT if expected == "correct" else Outcome.WRONG
            assert found.outcome is wanted, (policy, row)
            if case_id == "M02" and wanted is Outcome.WRONG:
                assert found.reason == "no complete boxed answer"


def _timed(row):
    start = time.monotonic()
    found = outcome("lenient", row["ref"], row["resp"])
    return found.outcome, time.monotonic() - start


def test_huge_powers_cost_nothing_in_any_thread_or_process(cases):
    """M07: the same verdicts from the main thread, eight threads and a child process."""
    case = cases["M07"]
    rows = case["input"]["rows"]
    here = list(map(_timed, rows))
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(_timed, rows * 4))
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        forked = list(pool.map(_timed, rows))
    outcomes = [found for found, _ in here]
    assert [found for found, _ in forked] == outcomes
    assert [found for found, _ in threaded] == outcomes * 4
    assert max(seconds for _, seconds in (*here, *threaded, *forked)) < 6
    for found, expected in zip(outcomes, case["expected"]["rows"], strict=True):
        if not expected.startswith("any"):
            assert (found is Outcome.CORRECT) == (expected == "correct")
            assert found is not Outcome.UNGRADED
