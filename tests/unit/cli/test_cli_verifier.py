"""``rewardable verifier``: exit codes for pipelines, sentences for mistakes, never a traceback."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from rewardable.cli import main

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from graded_run import graded_run

LENIENT = "divisible:policy=lenient"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        return graded_run(tmp_path_factory.mktemp("cli") / "run", patch, n=4, prompts=12).path


@pytest.fixture
def cli(monkeypatch, capsys):
    """Run a command line; return (exit code, output, errors)."""

    def call(*arguments, answers=()):
        said = iter(answers)

        def typed(prompt):
            try:
                return next(said)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", typed)
        monkeypatch.setattr(sys, "argv", ["rewardable", "verifier", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return int(stop.value.code or 0), printed.out, printed.err

    return call


def test_flips_end_with_three_and_are_shown(cli, folder):
    code, said, _ = cli("diff", folder, "--new", LENIENT)
    assert code == 3
    assert "wrong [no answer] -> correct, answer like a" in said
    assert "The answer is NO" in said
    assert "more flips than --allow 0" in said


def test_no_flips_or_allowed_ones_end_with_zero(cli, folder):
    assert cli("diff", folder, "--new", "divisible")[0] == 0
    assert cli("diff", folder, "--new", LENIENT, "--allow", "0.9")[0] == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--new", "divisble"], "Did you mean 'divisible'"),
        (["--new", "nowhere.module:attr"], "cannot load"),
        (["--new", LENIENT, "--old", "strict"], "NAME@VERSION"),
        (["--new", LENIENT, "--old", "strict@9"], "divisible-strict@2"),
        (["--new", LENIENT, "--in-task", "divide"], "task of the run"),
        (["--new", "divisible", "--keep"], "raise its version"),
        (["--new", "reward_functions:trl_none", "--signature", "trk"], "Did you mean 'trl'"),
        (["--new", "reward_functions:trl_none", "--column", "x"], "ARGUMENT=FACT"),
        (["--new", "reward_functions:needs_label"], "--column label=FACT"),
    ],
)
def test_mistakes_end_with_two_and_a_sentence(cli, folder, more, said):
    code, _, error = cli("diff", folder, *more)
    assert code == 2
    assert said in error


def test_a_folder_that_is_no_run_is_named(cli, tmp_path):
    assert cli("diff", tmp_path, "--new", LENIENT)[0] == 2
    assert cli("audit", tmp_path)[0] == 2


def test_a_sound_verifier_ends_with_zero(cli, tmp_path):
    table = tmp_path / "table.json"
    code, said, _ = cli("check", "divisible", "--prompts", 5, "--timeout", 0, "--out", table)
    assert code == 0
    assert "all required probes passed" in said
    assert json.loads(table.read_text())["name"] == "verifier-check divisible-strict@2"


def test_a_reward_function_that_can_be_fooled_ends_with_three(cli):
    code, said, _ = cli(
        "check", "reward_functions:trl_substring", "--task", "divisible", "--prompts", 5,
        "--timeout", 0, "--signature", "trl",
    )  # fmt: skip
    assert code == 3
    assert "failed: echo, hedge, either place" in said
    assert "hedge: expected not correct, got correct" in said


def test_a_bare_function_without_a_task_ends_with_two(cli):
    code, _, error = cli("check", "reward_functions:verl_score", "--timeout", 0)
    assert code == 2
    assert "--task" in error


def test_a_person_judges_leaves_and_comes_back(cli, folder):
    code, said, _ = cli("audit", folder, "-n", 12, answers=["c", "?", "w", "q"])
    assert code == 0
    assert said.count("--- response:") == 3
    assert "Is " in said
    left = int(said.split("--- 1 of ")[1].split()[0]) - 2
    code, said, _ = cli("audit", folder, "-n", 12, answers=["s"])
    assert f"--- 1 of {left} " in said
    assert "1 skipped" in said


def test_judgements_go_through_a_file(cli, folder, tmp_path):
    path = tmp_path / "questions.csv"
    told = ("audit", folder, "-n", 10, "--seed", 4)
    assert cli(*told, "--export", path)[0] == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["judgement"] = "c" if row["reference"] in row["response"].split() else "w"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    code, said, _ = cli(*told, "--import", path)
    assert code == 0
    assert f"{len(rows)} judgements read" in said
    assert "false WRONG" in said
    code, said, _ = cli(*told)
    assert "--- response:" not in said


def test_what_a_model_wrote_cannot_steer_the_terminal():
    from rewardable.cli.verifier_print import shown

    assert shown("a\x1b[2J\x07\u202eb\n\ud800") == "a\\x1b[2J\\x07\\u202eb\n\\ud800"
