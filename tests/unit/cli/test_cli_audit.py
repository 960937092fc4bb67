"""The verbs from the outside, on policies whose behaviour is known."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rewardable.cli import main
from rewardable.tasks import load_task
from rewardable.tasks.countdown import step_texts

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4"
SMALL = ["--task", TASK, "-n", "8", "--prompts", "24"]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Write a base that knows all texts of an instance and a trained policy that knows one."""
    folder = tmp_path_factory.mktemp("fakes")
    broad: dict[str, dict[str, float]] = {}
    narrow: dict[str, dict[str, float]] = {}
    for prompt in load_task(TASK).prompts(24, 0):
        texts = [step.text for step in step_texts(prompt.facts["numbers"], prompt.facts["target"])]
        broad[prompt.text] = {**{text: 0.5 / len(texts) for text in texts}, "1+1=3": 0.5}
        narrow[prompt.text] = {texts[0]: 0.9, "1+1=3": 0.1}
    for name, table in (("broad", broad), ("narrow", narrow)):
        (folder / f"{name}.json").write_text(json.dumps({"name": name, "table": table}))
    return f"fake:{folder / 'broad.json'}", f"fake:{folder / 'narrow.json'}"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the command line in this process; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["rewardable", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def findings(printed: str) -> list[str]:
    """Return the lines of the verdict."""
    return [line for line in printed.split("\n") if line.startswith(("countdown", "  - "))]


def test_audit_goes_from_policies_to_a_report_and_resumes(
    policies: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    assert run(monkeypatch, "audit", *policies, *SMALL, "--out", str(out)) == 0
    first = capsys.readouterr().out
    assert "384 rollouts, 384 of them new" in first
    assert "fell" in first
    assert (out / "report.html").read_text().startswith("<!doctype html>")

    assert run(monkeypatch, "audit", *policies, *SMALL, "--out", str(out)) == 0
    again = capsys.readouterr().out
    assert "384 rollouts, 0 of them new" in again
    assert first.split("\n\n", 1)[1] == again.split("\n\n", 1)[1]


def test_the_parts_give_the_same_verdict_as_the_whole(
    policies: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, parts = str(tmp_path / "whole"), str(tmp_path / "parts")
    assert run(monkeypatch, "audit", *policies, *SMALL, "--out", whole) == 0
    wanted = [
        line
        for line in capsys.readouterr().out.split("\n")
        if line.startswith(("countdown", "  - "))
    ]
    assert run(monkeypatch, "sample", *policies, *SMALL, "--out", parts) == 0
    assert run(monkeypatch, "grade", parts) == 0
    assert run(monkeypatch, "measure", parts) == 0
    got = [
        line
        for line in capsys.readouterr().out.split("\n")
        if line.startswith(("countdown", "  - "))
    ]
    assert wanted
    assert got == wanted
    assert run(monkeypatch, "report", parts, "--title", "A title") == 0
    assert "A title" in (tmp_path / "parts" / "report.html").read_text()


def test_resuming_under_another_configuration_is_refused(
    policies: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = str(tmp_path / "run")
    assert run(monkeypatch, "sample", *policies, *SMALL, "--out", out) == 0
    capsys.readouterr()
    assert run(monkeypatch, "sample", *policies, *SMALL, "--seed", "7", "--out", out) == 2
    error = capsys.readouterr().err
    assert "seed" in error
    assert "7" in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "fake:a.json", "--task", "countdwon"], "Did you mean 'countdown'"),
        (["audit", "fake:missing.json", "--task", TASK], "missing.json"),
        (["audit", "fake:a.json", "--task", "countdown:nubmers=4"], "'numbers'"),
        (["audit", "fake:a.json", "--task", TASK, "-n", "0"], "n must be at least 1"),
        (["audit", "fake:a.json", "--task", TASK, "--temperatures", "hot"], "0.6,1.0"),
        (["grade", "nowhere"], "nowhere"),
        (["measure", "nowhere"], "nowhere"),
        (["report", "nowhere"], "nowhere"),
        (["import", "nowhere.jsonl", "--map", "prompt=p", "--out", "x"], "completion"),
    ],
)
def test_mistakes_end_with_code_2_and_a_readable_message(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_plan_without_a_probe_loads_no_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["plan", "base", "trained", *SMALL[:2], "-n", "64", "--prompts", "100"]
    assert run(monkeypatch, *arguments, "--probe", "0") == 0
    printed = capsys.readouterr().out
    assert "rollouts: 12,800" in printed
    assert "0.1 -> 0" in printed


def test_tasks_lists_and_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tasks") == 0
    assert "countdown-steps" in capsys.readouterr().out
    assert run(monkeypatch, "tasks", TASK, "--count", "1") == 0
    assert "'target'" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(
    policies: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    out = str(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr("rewardable.workflows.sample.generate", stop)
        assert run(patched, "sample", *policies, *SMALL, "--out", out) == 130
    assert "run the same command to go on" in capsys.readouterr().err
    assert run(monkeypatch, "sample", *policies, *SMALL, "--out", out) == 0
