"""``rewardable measure --fail-on``: exit codes and lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rewardable.cli import main
from rewardable.workflows.import_dump import import_dump


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of two policies, the second of which solves half of the prompts no more."""
    folder = tmp_path_factory.mktemp("gates")
    rows = [
        {"policy": policy, "task": "sums", "id": i, "n": 32, "c": c}
        for policy, hit in (("base", 1.0), ("late", 0.5))
        for i in range(80)
        for c in [(4 + i % 9) if i < 80 * hit else 0]
    ]
    dump = folder / "counts.jsonl"
    dump.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    import_dump(folder / "run", dump, "policy=policy,task=task,prompt_id=id,n=n,c=c")
    return folder / "run"


def command(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    *gates: str,
) -> tuple[int, str, str]:  # fmt: skip
    more = [part for gate in gates for part in ("--fail-on", gate)]
    monkeypatch.setattr(sys, "argv", ["rewardable", "measure", str(run_folder), *more])
    try:
        main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_failed_gate_exits_with_3_after_writing_everything(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = ("support@16 falls > 20%", "pass@1 rises > 5%")
    code, out, _ = command(run_folder, monkeypatch, capsys, *gates)
    assert code == 3
    lines = [line for line in out.splitlines() if line.startswith("gate ")]
    assert [line.split(";")[0] for line in lines] == [
        "gate support@16 falls > 20%: FAILED",
        "gate pass@1 rises > 5%: held",
    ]
    assert "80 prompts" in lines[0]
    page = (run_folder / "report.html").read_text(encoding="utf-8")
    assert "support@16 falls &gt; 20%: FAILED" in page
    assert (run_folder / "tables" / "gates.json").is_file()


def test_gates_that_hold_exit_with_0(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = command(run_folder, monkeypatch, capsys, "support@16 falls > 90%")
    assert code == 0
    assert "gate support@16 falls > 90%: held" in out


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("suport@16 falls > 5%", "Did you mean 'support'"),
        ("support@33 falls > 5%", "needs 33 graded rollouts"),
        ("coverage@8 falls > 5%", "the number of labels 'solution' is unknown"),
    ],
)
def test_a_gate_that_cannot_be_meant_exits_with_2(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    gate: str, told: str,
) -> None:  # fmt: skip
    code, _, err = command(run_folder, monkeypatch, capsys, gate)
    assert code == 2
    assert told in err
