"""A graded run folder on disk: two fake policies that answer divisibility by seven in odd ways."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.engines.fake import FakePolicy
from rewardable.store import Run
from rewardable.workflows import policies as opening
from rewardable.workflows.config import RunConfig
from rewardable.workflows.grade import grade
from rewardable.workflows.sample import open_run, sample

BEFORE = {"YES": 0.3, "NO": 0.3, "no.": 0.1, "The answer is NO": 0.2, "I think yes or no": 0.1}
AFTER = {"YES": 0.1, "NO": 0.7, "The answer is NO": 0.1, "The answer is YES": 0.1}


def graded_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, *, n: int = 8, prompts: int = 30
) -> Run:
    """Sample and grade by the strict verifier."""
    fakes = {
        "before": FakePolicy("before", {"*": BEFORE}),
        "after": FakePolicy("after", {"*": AFTER}),
    }
    monkeypatch.setattr(opening, "open_engine", lambda source, options: fakes[source])
    config = RunConfig(policies=tuple(fakes), task="divisible", n=n, prompts=prompts, group=2)
    run = open_run(path, config)
    sample(run, config)
    grade(run)
    return run
