"""``import`` says what it read, assumed and skipped; ``export`` writes counts for other tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rewardable.cli import main


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["rewardable", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out + shown.err


def verl(path: Path, *answers: str, step: int = 5, **more: Any) -> Path:
    rows = [
        {"input": "2+2", "output": a, "gts": "4", "score": float(a == "4"), "step": step, **more}
        for a in answers
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_import_regrade_and_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = verl(tmp_path / "rollouts" / "5.jsonl", "4", "the answer is 4", "5")
    out = tmp_path / "run"
    code, said = run(monkeypatch, capsys, "import", dump, "--regrade", "gsm8k", "--out", out)
    assert code == 0
    assert "read as: a verl generation dump, JSON Lines" in said
    assert "1 correct, 2 wrong, 0 ungraded" in said
    assert "agrees with the dump on 2 of 3 (66.7 %)" in said
    assert "dump wrong, regraded correct: 1" in said
    assert "assumed: all rows are by one policy, rollouts@5" in said
    code, said = run(monkeypatch, capsys, "export", out, "--out", tmp_path / "counts")
    assert code == 0
    assert "1 prompts, 2 correct of 3 graded" in said
    row = json.loads((tmp_path / "counts" / "rollouts-5.jsonl").read_text())
    assert (row["c"], row["n"]) == (2, 3)


def test_what_was_skipped_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (1, 2):
        verl(tmp_path / "d" / f"{step}.jsonl", "4", "5", step=step)
    out = tmp_path / "run"
    code, said = run(monkeypatch, capsys, "import", tmp_path / "d", "--step", "2", "--out", out)
    assert code == 0
    assert "skipped: 2 rows, of other training steps" in said
    code, said = run(monkeypatch, capsys, "import", tmp_path / "d", "--out", tmp_path / "both")
    assert code == 0
    assert "Take one with --step N" in said


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (["--score", "x", "--map", "prompt=input,completion=output"], "go without --map"),
        (["--filter", "x"], "--filter means nothing"),
        (["--step", "x"], "--step must be"),
        (["--format", "vrel"], "unknown dump format"),
        (["--regrade", "gsm9k"], "unknown task"),
    ],
)
def test_choices_that_cannot_be_meant(
    told: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    dump = verl(tmp_path / "a" / "5.jsonl", "4")
    code, said = run(monkeypatch, capsys, "import", dump, *told, "--out", tmp_path / "run")
    assert code == 2
    assert message in said
