"""Line files as they are found, cases D01 and D02 among them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import DataError
from rewardable.importers import GenericImport, ImportResult, import_generic, import_into
from rewardable.records import Outcome, SamplingSpec
from rewardable.store import Run

FIELDS = {"prompt": "prompt", "completion": "response", "score": "reward"}
ROWS = [{"prompt": f"p{i}", "response": f"answer {i}", "reward": i % 2} for i in range(3)]
LINES = [json.dumps(row).encode() for row in ROWS]
TORN = b'{"prompt": "p4", "respon'


def read(path: Path, content: bytes, **config: Any) -> ImportResult:
    path.write_bytes(content)
    return import_generic(path, GenericImport(fields=FIELDS, **config))


def texts(result: ImportResult) -> list[str]:
    return [rollout.completion.text for rollout in result.rollouts]


EXPECTED = [row["response"] for row in ROWS]


def test_d01_half_of_a_surrogate_pair(cases: dict[str, Any], tmp_path: Path) -> None:
    lines = cases["D01"]["input"]["lines"]
    path = tmp_path / "d01.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = Run.create(tmp_path / "run", {})
    report = import_into(run, path, GenericImport(fields=FIELDS))
    assert (report.n_rollouts, report.n_correct, report.n_wrong) == (2, 1, 1)
    assert report.broken_texts == run.broken_texts() == 1
    assert "1 completions hold half a surrogate pair." in report.warnings
    group = run.groups()[0]
    place = {"policy_key": group.policy_key, "spec_key": group.spec_key}
    back = {rollout.completion.text for rollout, _ in run.rollouts(**place)}
    assert back == {json.loads(line)["response"] for line in lines}
    assert run.samples(**place).c_P.sum() == 1


def test_d01_half_surrogates_in_every_other_place(tmp_path: Path) -> None:
    half = "\ud835"
    row = {"prompt": half, "response": half, "reward": 1, half: half}
    path = tmp_path / "a.jsonl"
    fields = {**FIELDS, "task": half, "policy": half, "truth": half, "error": "none"}
    run = Run.create(tmp_path / "run", {})
    columns = {**fields, "label.a": half, "fact.b": half, "finish_reason": half}
    path.write_text(json.dumps({**row, "none": None}))
    report = import_into(run, path, GenericImport(fields=columns))
    assert (report.n_correct, report.broken_texts) == (1, 1)
    assert [prompt.facts for prompt in run.prompts(half)] == [{"answer": half, "b": half}]
    assert run.policies()[0].name == half
    group = run.groups()[0]
    place = {"policy_key": group.policy_key, "spec_key": group.spec_key}
    assert run.samples(**place, task=half).label_names == {"a": ("\\ud835",)}


def test_d02_only_line_feeds_separate_lines(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    rows = [ROWS[0], {**ROWS[1], "response": odd}, ROWS[2]]
    content = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    result = read(tmp_path / "a.jsonl", content.encode())
    assert texts(result) == [EXPECTED[0], odd, EXPECTED[2]]


@pytest.mark.parametrize("tail", [TORN, TORN + b"\n", TORN + b"\n\n  \n", b"\xff\xfe{\n"])
def test_d02_a_torn_last_line_is_reported(tmp_path: Path, tail: bytes) -> None:
    result = read(tmp_path / "a.jsonl", b"\n".join(LINES) + b"\n" + tail)
    assert texts(result) == EXPECTED
    assert result.report.torn_line == 4
    assert "the last record, line 4, is unfinished and was left out." in result.report.warnings


@pytest.mark.parametrize("keep", [0.5, 0.8, 0.97])
def test_d02_a_cut_gzip_stream_gives_its_complete_records(tmp_path: Path, keep: float) -> None:
    rows = [{"prompt": f"p{i}", "response": f"{i * 7919**9}", "reward": 1} for i in range(400)]
    whole = gzip.compress("\n".join(map(json.dumps, rows)).encode())
    result = read(tmp_path / "a.jsonl.gz", whole[: int(len(whole) * keep)])
    assert 0 < len(result.rollouts) < 400
    assert texts(result) == [row["response"] for row in rows[: len(result.rollouts)]]
    assert any("stream is cut" in warning for warning in result.report.warnings)


def test_whole_gzip_streams_of_several_members_are_not_cut(tmp_path: Path) -> None:
    content = b"".join(gzip.compress(line + b"\n") for line in LINES)
    result = read(tmp_path / "a.jsonl.gz", content)
    assert (texts(result), result.report.warnings) == (EXPECTED, ())


@pytest.mark.parametrize(
    "middle", [b"{broken", b"[1, 2]", b"\xff\xfe", b"[" * 100_000, b"1" * 9999]
)
def test_d02_a_broken_line_in_the_middle_is_loud(tmp_path: Path, middle: bytes) -> None:
    content = b"\n".join([LINES[0], middle, *LINES[1:]])
    with pytest.raises(DataError, match=r"a\.jsonl line 2 is no JSON object"):
        read(tmp_path / "a.jsonl", content)
    result = read(tmp_path / "a.jsonl", content, skip_broken=True)
    assert texts(result) == EXPECTED
    assert result.report.broken_lines == (2,)
    assert "1 broken lines were skipped: 2." in result.report.warnings


def test_d02_bom_crlf_and_a_long_line(tmp_path: Path) -> None:
    long = "x" * 20_000_000
    rows = [ROWS[0], {**ROWS[1], "response": long}, ROWS[2]]
    lines = [json.dumps(row).encode() for row in rows]
    result = read(tmp_path / "a.jsonl", b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n")
    assert texts(result) == [EXPECTED[0], long, EXPECTED[2]]
    assert result.report.warnings == ()


def test_csv_with_quoted_newlines_bom_and_commas(tmp_path: Path) -> None:
    text = '\ufeffprompt,response,reward\r\np0,"a, ""b""\r\nc\u2028d",1\r\np1,,0\r\np2,x,\r\n'
    result = read(tmp_path / "a.csv", text.encode())
    assert texts(result) == ['a, "b"\r\nc\u2028d', "", "x"]
    outcomes = [graded.verdict.outcome for graded in result.graded]
    assert outcomes == [Outcome.CORRECT, Outcome.WRONG, Outcome.UNGRADED]


def test_a_cut_csv_loses_its_last_row(tmp_path: Path) -> None:
    body = "prompt,response,reward\n" + "".join(f"p{i},{i * 7919**9},1\n" for i in range(500))
    whole = gzip.compress(body.encode())
    result = read(tmp_path / "a.csv.gz", whole[: len(whole) // 2])
    assert result.report.torn_line == len(result.rollouts) + 2
    assert texts(result) == [f"{i * 7919**9}" for i in range(len(result.rollouts))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,response,reward\na,b\n", "2 cells, expected 3"),
        ("prompt,prompt,reward\na,b,1\n", "names a column twice"),
        ('prompt,response,reward\na,"b,1\n', "unexpected end of data"),
        ("prompt,response,reward\na,b,yes\n", "row 2: score is 'yes', expected a number"),
    ],
)
def test_a_damaged_csv_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path / "a.csv", text.encode())


NO_SCORES = b'{"prompt": "p", "response": [], "reward": []}'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"\n\n", r"no rows in a\.jsonl, read as jsonl: expected at least one compl"),
        ("a.csv", b"prompt,response,reward\n", r"no rows in a\.csv, read as csv"),
        ("a.jsonl", TORN, r"no rows in a\.jsonl.* line 1, is unfinished and was left out"),
        ("a.jsonl", NO_SCORES, r"no rows in a\.jsonl"),
    ],
)
def test_a_file_without_rows_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    run = Run.create(tmp_path / "run", {})
    with pytest.raises(DataError, match=message):
        read(tmp_path / name, content)
    config = GenericImport(fields=FIELDS, spec=SamplingSpec())
    with pytest.raises(DataError, match=message):
        import_into(run, tmp_path / name, config)
    assert (run.prompts(), run.policies(), run.specs(), run.groups()) == ([], [], [], [])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        import_generic(tmp_path / "none.jsonl", GenericImport(fields=FIELDS))


junk = st.one_of(
    st.binary(max_size=300),
    st.binary(max_size=40).map(lambda tail: gzip.compress(b"\n".join(LINES))[:60] + tail),
    st.lists(st.sampled_from([*LINES, TORN, b"", b"null", b"\x00", b'{"prompt": 1}'])).map(
        b"\n".join
    ),
    st.binary(max_size=60).map(lambda middle: b"PAR1" + middle + b"PAR1"),
)


@settings(max_examples=150, deadline=None)
@given(content=junk, suffix=st.sampled_from(["jsonl", "csv", "tsv", "parquet"]), skip=st.booleans())
def test_random_bytes_never_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str, skip: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / f"junk.{suffix}"
    path.write_bytes(content)
    try:
        result = import_generic(path, GenericImport(fields=FIELDS, skip_broken=skip))
    except DataError:
        return
    assert len(result.rollouts) == result.report.n_rollouts == result.report.n_rows


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"prompt": values, "response": values, "reward": values},
            optional={"error": values, "finish": values, "id": values, "label": values},
        ),
        max_size=4,
    )
)
def test_rows_of_any_types_never_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "types.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    more = {"error": "error", "finish_reason": "finish", "label.a": "label", "prompt_id": "id"}
    for fields in (FIELDS, {**FIELDS, **more}):
        try:
            result = import_generic(path, GenericImport(fields=fields, success="> 0"))
        except DataError:
            continue
        assert result.report.n_correct + result.report.n_wrong + result.report.n_ungraded == len(
            result.rollouts
        )
