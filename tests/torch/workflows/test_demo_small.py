"""The demonstration, shrunk: real GRPO on the pocket policy, real sampling, a real report."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.workflows.demo import DemoConfig, demo
from rewardable.workflows.events import Event

pytest.importorskip("trl")


def test_demo_trains_audits_and_resumes(tmp_path: Path) -> None:
    config = DemoConfig(steps=2, prompts=6, n=8, train_prompts=64)
    events: list[Event] = []
    result = demo(tmp_path, config, events.append)

    assert result.report.is_file()
    assert result.sampled.rollouts == 3 * 2 * 6 * 8
    assert result.sampled.failed == 0
    assert result.graded.ungraded == 0
    assert result.verdict
    assert {event.stage for event in events if event.done == event.total} >= {"measuring"}
    checkpoints = sorted(path.name for path in (tmp_path / "train").glob("checkpoint-*"))
    assert checkpoints == ["checkpoint-1", "checkpoint-2"]

    again = demo(tmp_path, config)
    assert again.sampled.new == 0
    assert again.graded.graded == 0
    assert again.verdict == result.verdict
