"""Code judged in the sandbox: the public cases X*, and what a solution must not be able to do."""

from __future__ import annotations

import math
import os
import secrets
import socket
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from rewardable.errors import BoundaryError, ConfigError, DataError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.code import sandbox
from rewardable.tasks.code.box.jail import Limits
from rewardable.tasks.code.box.wire import NotPlainError, decode, encode
from rewardable.tasks.code.config import HumanEval, read_problems
from rewardable.tasks.code.extract import program_of
from rewardable.tasks.code.sandbox import CodeTests, run_tests
from rewardable.tasks.code.verify import CodeVerifier

TOTAL = "assert total([1, 2]) == 3\nassert total([]) == 0\nassert total([-1]) == -1"


def judged(text, tests=TOTAL, entry_point="total", code="", **options):
    facts = {"tests": tests, "entry_point": entry_point, "code": code}
    prompt = user_prompt("code", "1", "write total", facts)
    return CodeVerifier(**{"timeout_s": 6.0, **options}).verify(prompt, Completion(text=text))


def passes(verdict):
    assert verdict.outcome is not Outcome.UNGRADED, verdict.reason
    return verdict.outcome is Outcome.CORRECT


@pytest.mark.parametrize("id", ["X01", "X02"])
def test_what_a_solution_claims_is_no_pass(cases, id):
    rows, expected = cases[id]["input"]["rows"], cases[id]["expected"]["rows"]
    assert [passes(judged(row)) for row in rows] == [word == "pass" for word in expected]


def test_x04_the_last_block_that_defines_the_function(cases):
    for row in cases["X04"]["input"]["rows"]:
        assert passes(judged(row)), row


@pytest.mark.parametrize("row", range(4))
def test_x05_nothing_outlives_its_run(cases, monkeypatch, row):
    mark = secrets.randbelow(10**9)
    monkeypatch.setattr(sandbox.secrets, "randbelow", lambda limit: mark)
    program = cases["X05"]["input"]["rows"][row]
    start = time.monotonic()
    told = CodeTests(tests=TOTAL, entry_point="total")
    report = run_tests(program.replace("300", f"300.{mark}"), told, limits=Limits(wall_s=0.3))
    assert time.monotonic() - start < 0.3 + 4
    assert report.end == "timeout" if row < 3 else "EOFError" in report.fault
    assert _alive(mark) == []


def _alive(mark: int) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text()
            uid = (folder).stat().st_uid
        except OSError:
            continue
        if str(mark) in words or uid == 1_000_000_000 + mark:
            found.append(words)
    return found


@pytest.mark.parametrize("namespaces", [True, False])
def test_x07_neither_secrets_nor_tests_are_within_reach(cases, monkeypatch, tmp_path, namespaces):
    monkeypatch.setenv("DUMMY_TOKEN", "abc123")
    monkeypatch.chdir(tmp_path)
    Path("reference.txt").write_text("the answer")
    told = CodeTests(tests=cases["X07"]["input"]["tests"], entry_point="probe")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for row in cases["X07"]["input"]["rows"]:
            program = row.replace("45871", str(port))
            report = run_tests(program, told, namespaces=namespaces, limits=Limits(wall_s=30.0))
            assert report.passed == report.units == 1, (row, report)


def test_the_tests_are_not_in_the_solution_s_memory():
    program = (
        "import gc\ndef total(xs):\n    mark = ''.join(['SEC', 'RET-7'])\n"
        "    return sum(mark in repr(o)[:10**5] for o in gc.get_objects() if type(o) is not list)"
    )
    told = CodeTests(tests="x = 'SECRET-7'\nassert total([]) == 0", entry_point="total")
    report = run_tests(program, told)
    assert report.passed == 1


def test_files_outside_cannot_be_read_or_written(tmp_path):
    tmp_path.chmod(0o777)
    told = CodeTests(tests="assert total([]) == []", entry_point="total")
    (tmp_path / "gold.txt").write_text("42")
    for parent in tmp_path.parents:
        if os.stat(parent).st_uid == os.getuid() and len(parent.parts) > 2:
            parent.chmod(0o755)
    program = (
        "def total(xs):\n    done = []\n"
        f"    for name, mode in (('gold.txt', 'r'), ('new.txt', 'w')):\n"
        f"        try: open({str(tmp_path)!r} + '/' + name, mode)\n"
        "        except OSError: continue\n"
        "        done.append(name)\n    return done"
    )
    for namespaces in (True, False):
        report = run_tests(program, told, namespaces=namespaces)
        if "files" in report.walls:
            assert report.passed == 1, report.fault
    assert not (tmp_path / "new.txt").exists()


def test_the_score_is_the_share_of_passed_tests():
    verdict = judged("def total(xs): return abs(sum(xs))")
    assert verdict.outcome is Outcome.WRONG
    assert verdict.score == verdict.parts["tests"] == pytest.approx(2 / 3)
    assert verdict.parts["loads"] == 1.0
    assert verdict.labels["isolation"]


@pytest.mark.parametrize("tests", ["assert total(", "x = 1", "assert total(print)"])
def test_a_verdict_without_tests_that_ran_is_ungraded(tests):
    assert judged("def total(xs): return 0", tests=tests).outcome is Outcome.UNGRADED


def test_a_wall_that_is_asked_for_and_not_there():
    told = CodeTests(tests="assert f() is None", entry_point="f")
    with pytest.raises(BoundaryError, match="no isolation of moat"):
        run_tests("def f(): pass", told, require=("moat",))


def test_plain_data_arrives_as_it_was():
    values = (1, [2.5, {"a": {3}}], None, b"x", 1j, -0.0, "h\ud835", 7**999, True, range(3), ())
    for value in (values, Fraction(1, 3), Decimal("1.50"), frozenset({1}), bytearray(b"ab")):
        assert repr(decode(encode(value))) == repr(value)
    assert decode(encode(7**9999)) == 7**9999
    assert decode(encode(Counter("aab"))) == {"a": 2, "b": 1}
    assert next(decode(encode(i for i in range(3)))) == 0
    assert math.isnan(decode(encode(math.nan)))
    assert type(decode(encode(np.int64(3)))) is int
    assert decode(encode(object())) != object()


@pytest.mark.parametrize(
    "tagged",
    [None, 3, [], ["i"], ["i", 3], ["i", "zz"], ["?", 1], ["c", 3], ["l", {}], ["d", [1]],
     ["S", [["l", []]]], ["s", "d8"], ["q", ["0x1", "0x0"]], [["l"], []], ["f", "x" * 99]],
)  # fmt: skip
def test_what_was_never_encoded_is_refused(tagged):
    with pytest.raises(NotPlainError):
        decode(tagged)


def test_exceptions_and_arguments_reach_the_tests():
    tests = (
        "try:\n    f([1])\n    assert False or not 1\nexcept KeyError: pass\n"
        "x = [1, 2]\nf(x, go=True)\nassert x == [1, 2, 3]"
    )
    program = "def f(x, go=False):\n    if not go: raise KeyError(x[0])\n    x.append(3)"
    assert run_tests(program, CodeTests(tests=tests, entry_point="f", in_place=True)).passed == 2
    assert run_tests(program, CodeTests(tests=tests, entry_point="f")).passed == 1


def test_output_and_memory_are_capped():
    limits = Limits(wall_s=0.4, memory_mb=128)
    told = CodeTests(tests="assert f() == 1", entry_point="f")
    loud = run_tests("import sys\nwhile True: sys.stdout.write('x' * 10**6)", told, limits=limits)
    assert loud.end == "timeout"
    greedy = run_tests("def f(): return len([0] * 10**9)", told, limits=limits)
    assert "MemoryError" in greedy.fault


@pytest.mark.parametrize(
    ("response", "works"),
    [
        ("    return sum(xs)", True),
        ("    return sum(xs)\n\nprint(total([1]))\n", True),
        ("I would rather not.", False),
        ("", False),
        ("```python\nprint('hello')\n```", False),
        ("```python\ndef total(xs):\n    return sum(xs)", True),
        ("<think>```\ndef total(xs): 0\n```</think>\n```\ntotal = sum\n```", True),
    ],
)  # fmt: skip
def test_which_part_of_a_response_is_run(response, works):
    code = 'def total(xs):\n    """Add."""\n'
    assert passes(judged(response, code=code)) == works


def test_extraction_is_linear_in_the_response():
    start = time.monotonic()
    for piece in ("```\n", "def total(", "a = ", "\n \n", "x: y ", "~~~ ```"):
        program_of(piece * (99_000 // len(piece)), "total", "")
    assert time.monotonic() - start < 2
    assert program_of("def total(xs): pass\n" * 10_000, "total", "") is None


def test_humaneval_prompts(shared_data):
    path = shared_data / "data" / "humaneval" / "HumanEval.jsonl.gz"
    task = load_task(f"humaneval:path={path}")
    prompts = task.prompts(164, 0)
    assert task.name == "humaneval"
    assert len({prompt.key for prompt in prompts}) == 164
    assert task.prompts(5, 0) == prompts[:5]
    with pytest.raises(DataError, match="164 prompts"):
        task.prompts(165, 0)
    with pytest.raises(DataError, match="cannot read"):
        load_task("humaneval:path=/no/such.jsonl.gz").prompts(1, 0)
    with pytest.raises(ConfigError, match="timeout_s > 0"):
        load_task("humaneval:timeout_s=0")


def test_humaneval_solutions_and_the_six_samples(shared_data):
    folder = shared_data / "data" / "humaneval"
    task = HumanEval(path=str(folder / "HumanEval.jsonl.gz"), timeout_s=3.0).build()
    rows = {row["task_id"]: row for row in read_problems(task.config.path)}
    for number in (33, 38):
        row = rows[f"HumanEval/{number}"]
        answer = Completion(text=row["canonical_solution"])
        assert task.verifier.verify(task.prompt(row, 0), answer).outcome is Outcome.CORRECT
    example = read_problems(str(folder / "example_problem.jsonl"))[0]
    samples = read_problems(str(folder / "example_samples.jsonl"))
    outcomes = [
        judged(
            row["completion"], example["test"], "return1", example["prompt"], timeout_s=0.5
        ).outcome
        for row in samples
    ]
    assert outcomes == [Outcome.WRONG] * 3 + [Outcome.CORRECT] * 3
