"""A person's judgements of a run: drawn, recorded, taken up again, exported and imported."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.workflows.verifiers.judging import Audit, open_audit
from rewardable.workflows.verifiers.sample import read_sample
from rewardable.workflows.verifiers.strata import Stratum

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

from graded_run import graded_run

DIFFER = Stratum("wrong", "correct")
STRICT, LENIENT = "divisible-strict@2", "divisible-lenient@2"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """One run for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        return graded_run(tmp_path_factory.mktemp("audit") / "run", patch)


@pytest.fixture(scope="module")
def drawn(run):
    return {n: open_audit(run, n=n) for n in (40, 480)}


@pytest.fixture
def audit(drawn, tmp_path):
    return reopened(drawn[40], tmp_path)


@pytest.fixture
def whole(drawn, tmp_path):
    return reopened(drawn[480], tmp_path)


def reopened(audit, path):
    """Take up a sample in another folder, as a later call does in its own."""
    folder = path / "audit"
    if not folder.exists():
        shutil.copytree(audit.folder, folder)
    sample = read_sample(folder / "sample.json")
    assert sample == audit.sample
    return Audit(audit.run, folder, sample, audit._prompts, audit._task)


def human(question):
    """Judge as a lenient person would: any text that says the right word and not the other."""
    words = set(question.response.replace(".", "").upper().split()) & {"YES", "NO"}
    return "correct" if words == {question.reference} else "wrong"


def judge_all(audit, limit=None):
    for question in audit.questions()[:limit]:
        audit.judge(question.key, human(question))


def test_rows_where_the_policies_differ_come_first(audit):
    items = audit.sample.items
    assert len(items) == 40
    differing = [item.stratum == DIFFER for item in items]
    assert differing == sorted(differing, reverse=True)
    assert sum(differing) == 20
    assert sum(audit.sample.sizes.values()) == 480
    assert audit.sample.twin == LENIENT


def test_the_sample_is_drawn_once_and_depends_on_the_seed_alone(run, drawn):
    first = drawn[40]
    assert open_audit(run, n=40).sample == first.sample
    (first.folder / "sample.json").unlink()
    assert open_audit(run, n=40).sample == first.sample
    assert open_audit(run, n=40, seed=1).sample.items != first.sample.items


def test_judgements_are_taken_up_again_and_survive_a_cut_off_line(audit, tmp_path):
    judge_all(audit, limit=5)
    again = reopened(audit, tmp_path)
    asked = len(again.questions(open_only=False))
    assert len(again.questions()) == asked - 5
    with (again.folder / "judgements.jsonl").open("a") as file:
        file.write('{"question": "')
    judge_all(reopened(audit, tmp_path), limit=1)
    assert len(reopened(audit, tmp_path).questions()) == asked - 6


def test_error_rates_are_those_of_the_run(whole):
    audit = whole
    judge_all(audit)
    table = audit.table()
    sizes = audit.sample.sizes
    said = {"kind": "error", "verifier": STRICT}
    missed = table.one(
        **said, error="false WRONG", what="of its WRONG verdicts, how many are right"
    )
    wrong = sizes[DIFFER] + sizes[Stratum("wrong", "wrong")]
    assert missed.value == pytest.approx(sizes[DIFFER] / wrong)
    assert (missed.low, missed.high) == pytest.approx((missed.value, missed.value))
    rates = [row.estimate.value for row in table.select(kind="error", verifier=LENIENT)]
    assert rates == [0, 0, 0]
    by_verdict, by_person = table.select(kind="success", verifier=STRICT)
    gain = sizes[DIFFER] / 480
    assert by_person.estimate.value - by_verdict.estimate.value == pytest.approx(gain)


def test_a_part_of_the_sample_gives_intervals_that_hold_the_truth(run, audit):
    judge_all(audit)
    table = audit.table()
    (missed,) = table.select(kind="error", verifier=STRICT, error="false WRONG")
    sizes = audit.sample.sizes
    truth = sizes[DIFFER] / (sizes[DIFFER] + sizes[Stratum("wrong", "wrong")])
    assert missed.estimate.low < truth < missed.estimate.high < 1
    assert missed.estimate.n_graded == 30
    assert "Clopper-Pearson" in missed.estimate.method
    assert run.tables()[f"verifier-audit {STRICT}"] == table


def test_equal_answers_to_a_prompt_are_asked_once(whole):
    keys = [item.question for item in whole.sample.items]
    assert len(whole.questions()) == len(set(keys)) < len(keys) == 480


def test_the_questions_hide_the_verdict(audit):
    (question, *_) = audit.questions()
    assert question.reference in ("YES", "NO")
    assert not {"own", "twin", "verdict"} & set(question.__dataclass_fields__)


def test_a_csv_goes_out_and_comes_back(audit, tmp_path):
    judge_all(audit, limit=2)
    path = tmp_path / "q.csv"
    count = audit.export(path)
    assert count == len(audit.questions())
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["judgement"] for row in rows] == [""] * count
    for row, said in zip(rows, ("c", "Wrong", "skip", "0", ""), strict=False):
        row["judgement"] = said
    save(path, rows)
    assert audit.take(path) == 4
    assert len(reopened(audit, tmp_path).questions()) == count - 4


def save(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"question": "nobody", "judgement": "c"}, "row 1: the sample has no question 'nobody'"),
        ({"question": "", "judgement": "c"}, "no question"),
        ({"key": "x"}, "needs the columns"),
    ],
)
def test_a_wrong_csv_is_refused_and_nothing_is_recorded(audit, tmp_path, row, why):
    save(tmp_path / "q.csv", [row])
    with pytest.raises(DataError, match=why):
        audit.take(tmp_path / "q.csv")
    assert not (audit.folder / "judgements.jsonl").exists()


def test_a_wrong_word_is_named_by_its_row(audit, tmp_path):
    keys = [question.key for question in audit.questions()]
    rows = [{"question": keys[0], "judgement": "c"}, {"question": keys[1], "judgement": "maybe"}]
    save(tmp_path / "q.csv", rows)
    with pytest.raises(DataError, match=r"row 2: .*maybe"):
        audit.take(tmp_path / "q.csv")
    assert len(audit.questions()) == len(keys)


def test_formulas_and_odd_characters_are_kept_from_a_spreadsheet(audit, tmp_path):
    item = audit.sample.items[0]
    for text, shown in (("=1+1", "'=1+1"), ("a\x00b\ud800", "a\\x00b\\ud800")):
        object.__setattr__(item, "text", text)
        audit.export(tmp_path / "q.csv")
        with (tmp_path / "q.csv").open(encoding="utf-8", newline="") as file:
            assert next(csv.DictReader(file))["response"] == shown


def test_a_twin_may_be_named_and_another_needs_another_seed(run, drawn):
    with pytest.raises(ConfigError, match="another --seed"):
        open_audit(run, n=40, twin="reward_functions:trl_substring")
    audit = open_audit(run, n=40, seed=2, twin="reward_functions:trl_substring")
    assert audit.sample.twin.startswith("reward_functions:trl_substring@")


def test_verdicts_that_nobody_gave_are_named(run, drawn):
    with pytest.raises(DataError, match="other@1"):
        open_audit(run, n=40, verifier="other@1", seed=3)
    with pytest.raises(ConfigError, match="too small"):
        open_audit(run, n=3)
