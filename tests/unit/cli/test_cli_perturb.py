"""Paraphrases from the command line: sampled, measured, in the report."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rewardable.cli import main
from rewardable.store import Run
from rewardable.workflows.config import RunConfig, config_from_dict


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["rewardable", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_audit_samples_paraphrases_and_reports_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = tmp_path / "fake.json"
    fake.write_text(json.dumps({"name": "coin", "table": {"*": {"YES": 0.5, "NO": 0.5}}}))
    out = tmp_path / "run"
    told = ["--task", "divisible", "-n", "8", "--prompts", "6", "--out", str(out)]
    assert run(monkeypatch, "audit", f"fake:{fake}", *told, "--perturb", "5") == 0
    assert "288 rollouts" in capsys.readouterr().out
    made = Run.open(out)
    kinds = [prompt.facts["paraphrase"] for prompt in made.prompts("divisible")]
    assert len(kinds) == 36
    assert kinds.count("original") == 6
    table = json.loads((out / "tables" / "robustness.json").read_text())
    rates = [row["estimate"] for row in table["rows"] if row["labels"]["metric"] == "pass rate"]
    assert rates[0]["n_prompts"] == 6
    assert 0.3 < rates[0]["value"] < 0.7
    assert 'id="robustness"' in (out / "report.html").read_text()
    assert run(monkeypatch, "audit", f"fake:{fake}", *told) == 2
    assert "perturb" in capsys.readouterr().err


def test_tasks_shows_paraphrases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "tasks", "countdown-steps", "--count", "1", "--perturb", "2") == 0
    assert capsys.readouterr().out.count("operand order") == 2


def test_runs_made_without_paraphrases_keep_their_configuration() -> None:
    plain = RunConfig(policies=("a",), task="divisible")
    assert "perturb" not in plain.to_dict()
    more = RunConfig(policies=("a",), task="divisible", perturb=3)
    assert config_from_dict(more.to_dict()) == more
