"""Extraction: the public case F01, types, formats, sources."""

from __future__ import annotations

import json

import pytest

from rewardable.errors import DataError
from rewardable.records import Completion, Outcome, user_prompt
from rewardable.tasks import load_task
from rewardable.tasks.extraction.compare import same
from rewardable.tasks.extraction.verify import ExtractionVerifier

GOLD = {"city": "Quito", "nights": 3}


def judged(text, gold=GOLD, policy="strict", **facts):
    prompt = user_prompt("extraction", "1", "extract", {"fields": gold, **facts})
    return ExtractionVerifier(policy=policy).verify(prompt, Completion(text=text))


@pytest.mark.parametrize("policy", ["strict", "lenient"])
def test_f01_the_last_object_outside_the_reasoning(cases, policy):
    rows, expected = cases["F01"]["input"]["rows"], cases["F01"]["expected"]["rows"]
    for row, wanted in zip(rows, expected, strict=True):
        right = judged(row, policy=policy).outcome is Outcome.CORRECT
        assert right == (wanted == "correct"), row
    assert judged(rows[4], policy=policy).reason == "duplicate key"


def test_fields_are_parts_and_the_score_is_their_share():
    verdict = judged('{"city": "Lima", "nights": 3}')
    assert verdict.parts == {"format": 1.0, "field.city": 0.0, "field.nights": 1.0}
    assert verdict.score == 0.5
    assert verdict.reason == "wrong value"
    assert json.loads(verdict.labels["answer"]) == {"city": "Lima", "nights": 3}
    assert judged('{"city": "Quito"}').reason == "field missing"
    assert judged("Quito, 3").parts["format"] == 0.0


@pytest.mark.parametrize(
    ("stated", "gold", "kind", "strict", "lenient"),
    [
        (3, 3, "integer", True, True),
        (3.0, 3, "integer", False, True),
        ("3", 3, "integer", False, True),
        (True, 1, "integer", False, False),
        (1, True, "boolean", False, False),
        ("Yes", True, "boolean", False, True),
        (40, 40.0, "number", True, True),
        ("40.10 euros", 40.1, "number", False, True),
        ("1,250", 1250, "integer", False, True),
        (" quito.", "Quito", "string", False, True),
        ("2024-03-05", "2024-03-05", "date", True, True),
        ("5 March 2024", "2024-03-05", "date", False, True),
        ("March 5th, 2024", "2024-03-05", "date", False, True),
        ("2024/3/5", "2024-03-05", "date", False, True),
        ("2024-02-31", "2024-03-02", "date", False, False),
        (["b", "a"], ["a", "b"], "list", False, True),
        ("a, b", ["a", "b"], "list", False, True),
        (["a", 1], ["a", "1"], "list", False, False),
        (None, "Quito", "string", False, False),
        ({}, "Quito", "string", False, False),
        (float("inf"), 1.0, "number", False, False),
        ("x" * 10**6, "x", "string", False, False),
    ],
)
def test_types(stated, gold, kind, strict, lenient):
    assert same(stated, gold, kind, "strict") == strict
    assert same(stated, gold, kind, "lenient") == lenient


def test_key_value_lines_are_lenient_only():
    text = "Here it is:\n- **City**: Quito\n- Nights = 3\n"
    assert judged(text, policy="lenient").outcome is Outcome.CORRECT
    assert judged(text).reason == "no object"
    assert judged("City: Quito\nCity: Lima\nNights: 3", policy="lenient").reason == "duplicate key"
    assert judged("nothing", policy="lenient").reason == "no fields"


def test_broken_objects_and_missing_gold():
    assert judged('{"city": "Quito", "nights": 3').reason == "no object"
    assert judged('{"city": "Quito", "nights": NaN}').reason == "no object"
    assert judged("<think>" + json.dumps(GOLD)).reason == "reasoning not closed"
    assert judged("{}", gold={}).outcome is Outcome.UNGRADED
    assert judged("{}", gold={"a": None}).outcome is Outcome.UNGRADED
    assert judged("{}", types={"city": "colour"}).outcome is Outcome.UNGRADED
    assert judged('{"city": "Quito", "nights": 3} {"note": "x"}').outcome is Outcome.CORRECT


def test_generated_records_are_answered_by_their_gold():
    task = load_task("extraction")
    prompts = task.prompts(40, 1)
    assert task.prompts(10, 1) == prompts[:10]
    assert len({prompt.key for prompt in prompts}) == 40
    for prompt in prompts:
        answer = Completion(text=json.dumps(prompt.facts["fields"]))
        assert task.verifier.verify(prompt, answer).score == 1.0
        assert str(prompt.facts["fields"]["city"]) in prompt.text


def test_a_local_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "t", "fields": {"n": 1}, "types": {"n": "number"}}\n')
    prompt = load_task(f"extraction:path={path}").prompts(1, 0)[0]
    assert prompt.facts["types"] == {"n": "number"}
    assert "n (number)" in prompt.text
    with pytest.raises(DataError, match="1 prompts"):
        load_task(f"extraction:path={path}").prompts(2, 0)
    for bad in ('{"text": "t"}', '{"text": "t", "fields": {"n": null}}', "[1]", "{"):
        path.write_text(bad)
        with pytest.raises(DataError):
            load_task(f"extraction:path={path}").prompts(1, 0)
