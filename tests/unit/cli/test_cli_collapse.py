"""The 100 x 10 test as a verb: judged against the first policy, never by an absolute number."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rewardable.cli import main
from rewardable.records import WORDING_VERSION
from rewardable.store import Run, WordingBook
from rewardable.tasks import load_task

TASK = "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4"
ASKED = ["--task", TASK, "--prompts", "40"]


def write(folder: Path, name: str, answers: dict[str, float], task: str = TASK) -> str:
    table = {prompt.text: answers for prompt in load_task(task).prompts(40, 0)}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"name": name, "table": table}))
    return f"fake:{path}"


def even(count: int) -> dict[str, float]:
    return {f"1+{i}={i + 1}": 1 / count for i in range(count)}


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Fake policies that answer every prompt with so many texts, evenly."""
    folder = tmp_path_factory.mktemp("fakes")
    found = {f"of{count}": write(folder, f"of{count}", even(count)) for count in (1, 8, 20)}
    shifted = {text: 0.99 * share for text, share in even(20).items()}
    found["twin"] = write(folder, "twin", {**shifted, "?": 0.01})
    return found


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["rewardable", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    shown = capsys.readouterr()
    return int(stop.value.code or 0), shown.out + shown.err


def test_each_checkpoint_is_judged_against_the_first(
    policies: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    who = [policies[name] for name in ("of20", "twin", "of8", "of1")]
    out = tmp_path / "run"
    code, said = run(monkeypatch, capsys, "collapse", *who, *ASKED, "--out", str(out))
    assert code == 0
    lines = said.split("\n")
    assert any(line.startswith("of20 gives 8.") for line in lines)  # 20 (1 - 0.95^10) = 8.03
    assert any(line.startswith("twin against of20: no change shown") for line in lines)
    assert any(line.startswith("of8 narrowed against of20") for line in lines)
    fallen = next(line for line in lines if line.startswith("of1 collapsed against of20"))
    assert "1.00 [" in fallen
    assert "12 % [" in fallen

    code, again = run(monkeypatch, capsys, "collapse", str(out))
    assert code == 0
    assert fallen in again
    assert "rollouts" not in again.split("\n")[0]

    code, few = run(monkeypatch, capsys, "collapse", str(out), "-n", "3")
    assert "in 3 (40 prompts" in few
    code, wrong = run(monkeypatch, capsys, "collapse", str(out), "--task", "countdwn")
    assert code == 2
    assert "countdown-steps" in wrong


def test_a_low_start_is_no_collapse_and_a_rise_is_told(
    policies: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every policy that gives one text where the base gives one has lost nothing."""
    shares = {"start": 0.9, "same": 0.89}
    low = [write(tmp_path, name, {"yes": p, "no": 1 - p}) for name, p in shares.items()]
    who = [*low, policies["of8"]]
    _, said = run(monkeypatch, capsys, "collapse", *who, *ASKED, "--out", str(tmp_path / "run"))
    assert "start gives 1." in said
    assert "same against start: no change shown" in said
    assert "of8 widened against start" in said
    assert "same collapsed" not in said
    assert "same narrowed" not in said


def test_imported_rollouts_are_judged_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, kinds in (("early", 9), ("late", 2)):
        rows = [{"q": f"q{p}", "a": f"{p} {i % kinds}", "ok": 0} for p in range(30)
                for i in range(10)]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        dump = str(tmp_path / f"{name}.jsonl")
        told = ["--map", "prompt=q,completion=a,score=ok", "--policy", name]
        code, _ = run(monkeypatch, capsys, "import", dump, "--out", str(tmp_path / "run"), *told)
        assert code == 0
    _, said = run(monkeypatch, capsys, "collapse", str(tmp_path / "run"))
    assert "late collapsed against early: 2.00" in said
    _, said = run(monkeypatch, capsys, "collapse", str(tmp_path / "run"), "--base", "late")
    assert "early widened against late: 9.00" in said
    held = Run.open(tmp_path / "run")
    keys = [prompt.key for prompt in held.prompts()]
    assert len(keys) == 30
    assert WordingBook(held.path).n_stale(keys, WORDING_VERSION, 0) == 0
    for part in (held.path / "wordings").iterdir():
        part.unlink()
    assert WordingBook(held.path).n_stale(keys, WORDING_VERSION, 0) == 60
    code, _ = run(monkeypatch, capsys, "grade", str(tmp_path / "run"))
    assert code == 0
    assert WordingBook(held.path).n_stale(keys, WORDING_VERSION, 0) == 0


def test_adaptive_runs_are_judged_at_their_first_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prompts that were sampled on because nothing was right have no more outputs to count."""
    who = [write(tmp_path, "start", even(20)), write(tmp_path, "end", {"1+1=2": 1.0})]
    out = str(tmp_path / "run")
    rule = ["--stop-at-successes", "2", "--first", "8", "--cap", "16"]
    code, _ = run(monkeypatch, capsys, "sample", *who, *ASKED, *rule, "--out", out)
    assert code == 0
    _, said = run(monkeypatch, capsys, "collapse", out)
    assert "distinct outputs in 8 (40 prompts" in said
    assert "end collapsed against start: 1.00" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["collapse", "fake:x.json"], "--task"),
        (["collapse", "fake:x.json", "--task", TASK, "-n", "1"], "at least 2"),
        (["collapse", "fake:x.json", "--task", TASK, "--base", "x"], "imported runs"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, said = run(monkeypatch, capsys, *arguments)
    assert code == 2
    assert expected in said
