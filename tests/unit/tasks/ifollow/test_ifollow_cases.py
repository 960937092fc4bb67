"""Public bug reports about instruction checkers, by id, and the published unit tests as data."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rewardable.errors import ConfigError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks.ifollow import UNDECIDED, InstructionVerifier, instruction
from rewardable.tasks.ifollow.loose import judged
from rewardable.tasks.ifollow.sentences import sentences

SRC = Path(__file__).resolve().parents[4] / "src"


def verdict(row, **options):
    prompt = user_prompt("t", "1", "q", {"instructions": row["ids"], "kwargs": row["kwargs"]})
    return InstructionVerifier(**options).verify(prompt, Completion(text=row["resp"]))


def follows(row):
    return instruction(row["id"], row["kwargs"]).holds(row["resp"])


@pytest.mark.parametrize("number", range(5))
def test_I01_one_verdict_in_every_run(cases, number):
    row = cases["I01"]["input"]["rows"][number]
    if number == 4:
        with pytest.raises(ConfigError, match="letter_frequency needs letter"):
            follows(row)
        return
    said = {follows(row) for _ in range(60)}
    with ThreadPoolExecutor(8) as pool:
        said |= set(pool.map(follows, [row] * 40))
    expected = {1: {True}, 2: {False}, 3: {False}}.get(number)
    assert len(said) == 1
    assert expected is None or said == expected


def test_I01_one_verdict_in_every_process(cases):
    rows = cases["I01"]["input"]["rows"][:4]
    code = (
        "import json, sys\n"
        "from rewardable.tasks.ifollow import instruction\n"
        "rows = json.load(sys.stdin)\n"
        "print([instruction(r['id'], r['kwargs']).holds(r['resp']) for r in rows])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SRC), "PYTHONHASHSEED": "1"},
    )
    assert found.stdout == f"{[follows(row) for row in rows]}\n"


def test_I02_relations_are_told_apart(cases):
    rows = cases["I02"]["input"]["rows"]
    assert [follows(row) for row in rows[:4]] == [False, False, True, True]
    with pytest.raises(ConfigError, match="fewer than"):
        follows(rows[4])


def test_I03_each_instruction_counts_once(cases):
    rows = cases["I03"]["input"]["rows"]
    twice = verdict(rows[0], score="soft")
    parts = {name: value for name, value in twice.parts.items() if ":" in name}
    assert list(parts.values()) == [0.0, 1.0]
    assert list(parts) == ["length_constraints:number_words", "length_constraints:number_words#2"]
    assert (twice.outcome, twice.score) == (Outcome.WRONG, 0.5)
    with pytest.raises(ConfigError, match=r"unknown instruction 'made_up:unknown_rule'"):
        verdict(rows[1])
    for row in rows[2:]:
        empty = verdict(row, mode="loose")
        assert (empty.outcome, empty.reason) == (Outcome.WRONG, "empty response")
        assert set(empty.parts.values()) == {0.0}


def test_I06_sentences(cases):
    case = cases["I06"]
    assert [len(sentences(text)) for text in case["input"]["rows"]] == case["expected"]["rows"]


def test_I07_json(cases):
    one = instruction("detectable_format:json_format", {})
    found = [judged(one, text) for text in cases["I07"]["input"]["rows"]]
    assert [strict for strict, _ in found] == [True, True, False, False, False, False]
    assert [loose for _, loose in found] == [True, True, True, False, False, False]


BLANK = ("format:quote_unquote", "")
"""The published test calls a blank response followed; here a blank one follows nothing."""


@pytest.mark.parametrize("name", ["ifeval", "ifbench"])
def test_published_checker_cases(shared_data, name):
    lines = (shared_data / "data" / name / f"{name}_checker_cases.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in lines.split("\n") if line]
    rows = [row for row in rows if row["instruction_id"] not in UNDECIDED]
    wrong = [
        (row["instruction_id"], row["response"])
        for row in rows
        if instruction(row["instruction_id"], row["kwargs"]).holds(row["response"])
        != row["expected"]
    ]
    assert len(rows) == {"ifeval": 81, "ifbench": 172}[name]
    assert wrong == ([BLANK] if name == "ifbench" else [])
