from __future__ import annotations

from pathlib import Path

import pytest

from rewardable.errors import ConfigError, ResumeError
from rewardable.store import Run

CONFIG = {
    "n": 64,
    "tasks": ("countdown",),
    "sampling": {"temperature": 1.0, "top_p": 1.0},
    "engine": {"device": "cpu", "batch_rows": 64},
}


def test_the_same_configuration_resumes(tmp_path: Path) -> None:
    made = Run.resume_or_create(tmp_path / "run", CONFIG)
    again = Run.resume_or_create(tmp_path / "run", CONFIG)
    assert again.config == made.config == {**CONFIG, "tasks": ["countdown"]}


def test_another_configuration_is_refused_naming_every_key_and_both_values(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG)
    other = {**CONFIG, "n": 32, "sampling": {"temperature": 0.6}, "extra": True}
    with pytest.raises(ResumeError) as caught:
        Run.resume_or_create(tmp_path / "run", other)
    message = str(caught.value)
    assert "n: stored 64, asked 32" in message
    assert "sampling.temperature: stored 1.0, asked 0.6" in message
    assert "sampling.top_p: stored 1.0, asked '(absent)'" in message
    assert "extra: stored '(absent)', asked True" in message
    assert "engine" not in message
    assert "tasks" not in message


def test_keys_that_may_differ_do(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG)
    other = {**CONFIG, "engine": {"device": "cuda", "batch_rows": 8}}
    for allowed in (["engine"], ["engine.device", "engine.batch_rows"]):
        Run.resume_or_create(tmp_path / "run", other, may_differ=allowed)
    with pytest.raises(ResumeError, match=r"engine\.batch_rows: stored 64, asked 8"):
        Run.resume_or_create(tmp_path / "run", other, may_differ=["engine.device"])
    with pytest.raises(ResumeError):
        Run.resume_or_create(tmp_path / "run", other, may_differ=["eng"])


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ConfigError, match="holds other files"):
        Run.resume_or_create(tmp_path, CONFIG)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_is_not_made_twice_and_no_run_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no run folder"):
        Run.open(tmp_path)
    Run.create(tmp_path / "run", CONFIG)
    with pytest.raises(ConfigError, match="is a run already"):
        Run.create(tmp_path / "run", CONFIG)


def test_creation_that_was_killed_before_the_configuration_is_repeated(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".tmp-1-config.toml").write_text("n = 6")
    assert Run.resume_or_create(tmp_path, CONFIG).config["n"] == 64


def test_a_damaged_configuration_is_named(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG)
    (tmp_path / "run" / "config.toml").write_text("n = ")
    with pytest.raises(ConfigError, match=r"config\.toml cannot be read"):
        Run.open(tmp_path / "run")
