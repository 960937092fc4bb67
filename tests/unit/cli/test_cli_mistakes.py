"""What users get wrong, and what goes wrong around them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewardable.cli import main
from rewardable.records import Completion, Outcome, Prompt, Verdict, user_prompt

Run = Callable[..., tuple[int, str, str]]
TASK = f"{__name__}:Riddles"
BROKEN: set[str] = set()
"""Answers that the verifier cannot judge at the moment."""


@dataclass(frozen=True)
class Judge:
    name: str = "riddles"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Verdict:
        if completion.text in BROKEN:
            raise RuntimeError("the judge is out")
        right = completion.text == "yes"
        outcome = Outcome.CORRECT if right else Outcome.WRONG
        return Verdict(outcome=outcome, verifier=self.name, version=self.version)


@dataclass(frozen=True)
class RiddleTask:
    name: str
    verifier: Judge = Judge()
    version: str = "1"

    def prompts(self, count: int, seed: int) -> list[Prompt]:
        return [user_prompt(self.name, "1", f"{self.name} {i}") for i in range(count)]


@dataclass(frozen=True, kw_only=True)
class Riddles:
    """A user's own task."""

    kind: str = "riddles"

    def build(self) -> RiddleTask:
        return RiddleTask(self.kind)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder of its own; return (exit code, output, errors)."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.chdir(tmp_path)
    for name, table in (
        ("a", {"*": {"yes": 0.5, "no": 0.5}}),
        ("b", {"*": {"yes": 0.9, "no": 0.1}}),
    ):
        Path(f"{name}.json").write_text(json.dumps({"name": name, "table": table}))
    BROKEN.clear()

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rewardable", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        return int(stop.value.code or 0), said.out, said.err

    return call


AUDIT = ("audit", "fake:a.json", "fake:b.json", "--task", TASK, "-n", "4", "--prompts", "5")


def test_a_failing_verifier_is_counted_and_can_be_retried(cli: Run) -> None:
    BROKEN.add("no")
    code, printed, _ = cli(*AUDIT, "--out", "run")
    assert code == 0
    assert "RuntimeError: the judge is out" in printed
    BROKEN.clear()
    assert "0 graded" in cli("grade", "run")[1]
    code, printed, _ = cli("grade", "run", "--retry-ungraded")
    assert code == 0
    assert ", 0 ungraded" in printed
    assert not printed.startswith("0 graded")


def test_an_audit_that_can_measure_nothing_says_why(cli: Run) -> None:
    BROKEN.update({"yes", "no"})
    code, _, error = cli(*AUDIT, "--out", "run")
    assert code == 2
    assert "RuntimeError: the judge is out" in error


def test_measuring_before_grading_says_what_to_run(cli: Run) -> None:
    assert cli("sample", *AUDIT[1:], "--out", "run")[0] == 0
    code, _, error = cli("measure", "run")
    assert code == 2
    assert "rewardable grade run" in error


def test_a_policy_that_changed_is_not_mixed_into_the_run(cli: Run) -> None:
    assert cli("sample", *AUDIT[1:], "--out", "run")[0] == 0
    Path("b.json").write_text(json.dumps({"name": "b", "table": {"*": {"yes": 0.2, "no": 0.8}}}))
    code, _, error = cli("sample", *AUDIT[1:], "--out", "run")
    assert code == 2
    assert "fake:b.json has other weights" in error


def test_choosing_a_base_is_for_imports(cli: Run) -> None:
    assert cli(*AUDIT, "--out", "run")[0] == 0
    code, _, error = cli("measure", "run", "--base", "b")
    assert code == 2
    assert "imported runs only" in error


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--temperatures", "0"], "greedy"),
        (["--temperatures", "1,1"], "named twice"),
        (["--future-task", TASK], "named twice"),
        (["--template-from", "./nowhere"], "nowhere"),
        (["--own-templates", "--template-from", "x"], "exclude each other"),
        (["--out", "a.json"], "a.json"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(cli: Run, more: list[str], said: str) -> None:
    code, _, error = cli(*AUDIT, *more)
    assert code == 2
    assert said in error
    assert "Traceback" not in error


def test_a_damaged_configuration_is_named(cli: Run) -> None:
    assert cli("sample", *AUDIT[1:], "--out", "run")[0] == 0
    config = Path("run/config.toml")
    config.write_text(config.read_text().replace("n = 4", 'n = "x"'))
    code, _, error = cli("grade", "run")
    assert code == 2
    assert "wrong type" in error
