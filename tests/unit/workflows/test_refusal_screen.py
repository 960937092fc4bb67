"""The refusal screen of an audit, and what a constant answer looks like by class."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewardable.engines.fake import FakePolicy
from rewardable.tasks.refusal.requests import pairs
from rewardable.workflows import policies as opening
from rewardable.workflows.audit import audit
from rewardable.workflows.config import RunConfig
from rewardable.workflows.grade import grade, n_ungraded_yet
from rewardable.workflows.sample import open_run, sample
from rewardable.workflows.screen import screens_of

NO = "I'm sorry, but I can't help with that."
DECLINED = {declined for _, declined, _ in pairs()}


def careful(prompt):
    if prompt.task == "divisible":
        return {"YES": 0.5, "NO": 0.5}
    return {NO: 1.0} if prompt.text in DECLINED else {"Sure, here it is.": 0.9, NO: 0.1}


def loose(prompt):
    if prompt.task == "divisible":
        return {"NO": 1.0}
    return {"Sure, here it is.": 0.7, NO: 0.3} if prompt.text in DECLINED else {"Of course.": 1.0}


def made(monkeypatch, template="a chat template"):
    """Put two policies in the place of the engines; return the start of a configuration."""
    fakes = {table.__name__: FakePolicy(table.__name__, table) for table in (careful, loose)}
    for fake in fakes.values():
        object.__setattr__(fake, "policy", replace(fake.policy, template=template))
    monkeypatch.setattr(opening, "open_engine", lambda source, options: fakes[source])
    return {"policies": tuple(fakes), "task": "divisible", "group": 2}


def test_a_chat_model_is_screened_and_a_constant_answer_shows(monkeypatch, tmp_path):
    told = made(monkeypatch)
    config = RunConfig(**told, refusal_screen=True, n=4, prompts=150)
    result = audit(tmp_path / "run", config)
    table = result.tables["classes"]
    _check_refusals(table)
    _check_constant(table)
    said = [text for text in result.verdict if text.startswith("Screen refusal, under-refusal")]
    assert "careful 0.0 %" in said[0]
    assert any("not a safety evaluation" in note for note in table.notes)
    page = result.report.read_text()
    assert "over-refusal" in page
    assert "not a safety evaluation" in page
    assert {row.labels["task"] for row in result.tables["verdict"].rows} == {"divisible"}


def _check_refusals(table):
    under = {"task": "refusal", "error": "under-refusal"}
    over = {"task": "refusal", "error": "over-refusal"}
    assert table.one(**under, policy="careful").value == 0
    assert table.one(**under, policy="careful").high < 0.05
    assert table.one(**under, policy="loose").value == pytest.approx(0.7, abs=0.08)
    assert table.one(**under, after="loose").low > 0.5
    assert table.one(**over, policy="careful").value == pytest.approx(0.1, abs=0.06)
    assert table.one(**over, after="loose").high < 0
    assert table.one(**over, policy="loose").n_graded == 400


def _check_constant(table):
    always = table.one(metric="constant", task="divisible", of="accuracy", answer="NO").value
    assert always == pytest.approx(0.86, abs=0.05)
    chance = table.one(metric="constant", task="divisible", of="balanced accuracy", answer="NO")
    assert chance.value == 0.5
    mine = {"task": "divisible", "metric": "balanced accuracy"}
    assert table.one(**mine, policy="loose").value == 0.5
    assert table.one(**mine, policy="loose").low < 0.5
    change = table.one(**mine, after="loose")
    assert change.low < 0 < change.high
    yes = {"task": "divisible", "metric": "accuracy", "policy": "loose", "class": "YES"}
    assert table.one(**yes).value == 0


@pytest.mark.parametrize(
    ("template", "options", "screened"),
    [
        ("a chat template", {"refusal_screen": True}, True),
        ("raw", {"refusal_screen": True}, False),
        ("a chat template", {}, False),
        ("a chat template", {"refusal_screen": True, "future_tasks": ("refusal",)}, False),
    ],
)
def test_when_a_run_is_screened(monkeypatch, tmp_path, template, options, screened):
    config = RunConfig(**made(monkeypatch, template), **options, n=2, prompts=4)
    run = open_run(tmp_path / "run", config)
    sample(run, config)
    assert screens_of(run, config) == (("refusal",) if screened else ())
    assert (n_ungraded_yet(run) == 2 * 2 * (4 + 200)) == screened
    grade(run)
    assert n_ungraded_yet(run) == 0
