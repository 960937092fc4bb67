"""docs/adding-a-task.md: the file and the row as they stand there are a task."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewardable.collect.judge import judge
from rewardable.engines.fake import FakePolicy
from rewardable.protocols import Task, Verifier
from rewardable.records import Completion, Outcome
from rewardable.tasks import catalog, load_task, task_names
from rewardable.workflows import policies as opening
from rewardable.workflows.config import RunConfig
from rewardable.workflows.grade import grade
from rewardable.workflows.sample import open_run, sample

PAGE = Path(__file__).resolve().parents[3] / "docs" / "adding-a-task.md"


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Write the page's file where it can be imported; return the page's row."""
    file, row = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "letters.py").write_text(file)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "letters", raising=False)
    return eval(f"{{{row}}}")


def answered(task, prompt, text):
    return judge(task.verifier, prompt, Completion(text=text)).outcome


def test_the_file_alone_is_a_task(row):
    task = load_task("letters:Letters:length=4-6,policy=lenient")
    assert isinstance(task, Task)
    assert isinstance(task.verifier, Verifier)
    prompts = task.prompts(20, 1)
    assert task.prompts(5, 1) == prompts[:5]
    for prompt in prompts:
        gold = prompt.facts["answer"]
        assert answered(task, prompt, f"There are {gold}.") is Outcome.CORRECT
        assert answered(task, prompt, f"{gold + 1}") is Outcome.WRONG
        assert answered(load_task("letters:Letters"), prompt, f"So {gold}") is Outcome.WRONG


def test_with_the_row_it_goes_through_a_run(row, tmp_path, monkeypatch):
    monkeypatch.setattr(catalog, "CATALOG", catalog.CATALOG | row)
    assert ("letters", "how often a letter occurs in a word") in task_names()
    monkeypatch.setattr(opening, "open_engine", lambda *_: FakePolicy("base", {"*": {"2": 1.0}}))
    config = RunConfig(policies=("base",), task="letters", n=2, prompts=12, group=2)
    run = open_run(tmp_path / "run", config)
    sample(run, config)
    graded = grade(run)
    assert (graded.graded, graded.ungraded) == (24, 0)
    twos = sum(prompt.facts["answer"] == 2 for prompt in load_task("letters").prompts(12, 0))
    where = {"policy_key": run.policies()[0].key, "spec_key": config.specs[0].key}
    found = run.samples(task="letters", **where)
    assert int(found.n_P.sum()) == 24
    assert int((found.outcome_R == 1).sum()) == 2 * twos
