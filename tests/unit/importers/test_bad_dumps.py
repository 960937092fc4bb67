"""Damaged and odd dumps: no good row is lost, and what was bad is said."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardable.errors import DataError, UserError
from rewardable.importers import (
    Choices,
    GenericImport,
    ImportResult,
    KnownImport,
    import_into,
    import_known,
)
from rewardable.importers.jsonstream import CutError, members
from rewardable.store import Run

VERL = {"input": "2+2", "output": "4", "gts": "4", "score": 1.0, "step": 5}
ZSTD = pa.Codec("zstd")


def verl(path: Path, content: bytes, **config: Any) -> ImportResult:
    path.write_bytes(content)
    return import_known(path, KnownImport(**config))


def lines(count: int) -> bytes:
    rows = ({**VERL, "output": f"{i * 7919**9}"} for i in range(count))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def packed(data: bytes) -> bytes:
    return ZSTD.compress(data, asbytes=True)


def test_whole_zstd_streams_of_several_frames(tmp_path: Path) -> None:
    content = lines(60)
    half = content[: len(content) // 2]
    data = packed(half) + packed(content[len(half) :])
    result = verl(tmp_path / "5.jsonl.zst", data)
    assert len(result.rollouts) == 60
    assert not any("cut" in one for one in result.report.warnings)
    mapped = GenericImport(fields={"prompt": "input", "completion": "output", "score": "score"})
    run = Run.create(tmp_path / "run", {})
    assert import_into(run, tmp_path / "5.jsonl.zst", mapped).n_rollouts == 60


def test_a_cut_zstd_stream_gives_its_complete_blocks(tmp_path: Path) -> None:
    content = lines(4000)
    data = packed(content)
    result = verl(tmp_path / "5.jsonl.zst", data[: len(data) * 3 // 4])
    assert 1000 < len(result.rollouts) < 4000
    assert [r.completion.text for r in result.rollouts] == [
        f"{i * 7919**9}" for i in range(len(result.rollouts))
    ]
    assert any("stream is cut" in one for one in result.report.warnings)


def test_a_compressed_dump_is_told_by_its_content(tmp_path: Path) -> None:
    for name, data in (("a", gzip.compress(lines(3))), ("b.txt", packed(lines(3)))):
        assert len(verl(tmp_path / name, data).rollouts) == 3


def test_d01_and_d02_surrogates_and_separators_in_a_known_dump(tmp_path: Path) -> None:
    odd = "a\u2028b\u2029c\u0085d"
    rows = [{**VERL, "output": "half \ud835"}, {**VERL, "output": odd}]
    content = "\n".join([json.dumps(rows[0]), json.dumps(rows[1], ensure_ascii=False)])
    result = verl(tmp_path / "5.jsonl", b"\xef\xbb\xbf" + content.encode() + b"\r\n")
    assert [r.completion.text for r in result.rollouts] == ["half \ud835", odd]
    assert result.report.broken_texts == 1


def test_rows_that_cannot_be_used_are_named_or_skipped_whole(tmp_path: Path) -> None:
    good = json.dumps(VERL).encode()
    bad = [
        {**VERL, "output": 5},
        {**VERL, "score": "high"},
        {"input": "x", "score": 1, "step": 5},
        {**VERL, "output": ["4", "5"], "score": [1.0]},
    ]
    body = [good, *(json.dumps(row).encode() for row in bad), b"{broken", good]
    with pytest.raises(DataError, match=r"5\.jsonl row 2: the completion is '5'"):
        verl(tmp_path / "5.jsonl", b"\n".join(body))
    result = verl(tmp_path / "5.jsonl", b"\n".join(body), skip_broken=True)
    assert (len(result.rollouts), len(result.graded), result.report.n_rows) == (2, 2, 2)
    assert result.report.n_bad_rows == 4
    assert result.report.broken_lines == (6,)
    assert [r.id.index for r in result.rollouts] == [0, 1]
    said = " ".join(result.report.warnings)
    assert "row 3 was skipped: 5.jsonl row 3: score is 'high'" in said
    assert "1 broken lines were skipped: 6" in said


def test_many_bad_rows_are_counted_and_ten_are_shown(tmp_path: Path) -> None:
    rows = [VERL, *({**VERL, "output": i} for i in range(25))]
    content = b"\n".join(json.dumps(row).encode() for row in rows)
    result = verl(tmp_path / "5.jsonl", content, skip_broken=True)
    assert result.report.n_bad_rows == 25
    assert sum("was skipped:" in one for one in result.report.warnings) == 10
    assert "15 more rows were skipped." in result.report.warnings


def test_rows_written_twice_are_pointed_out(tmp_path: Path) -> None:
    result = verl(tmp_path / "5.jsonl", lines(20) * 2)
    assert len(result.rollouts) == 40
    assert any(one.startswith("20 of 40 completions equal") for one in result.report.warnings)
    once = verl(tmp_path / "6.jsonl", lines(20))
    assert not any("completions equal" in one for one in once.report.warnings)


def test_trl_nan_rewards_are_ungraded_and_a_torn_file_is_named(tmp_path: Path) -> None:
    table = pa.table(
        {
            "step": [1, 1],
            "prompt": ["p", "p"],
            "completion": ["a", "b"],
            "reward_fn": [float("nan"), 1.0],
            "advantage": [0.0, 0.0],
        }
    )
    path = tmp_path / "completions_00001.parquet"
    pq.write_table(table, path)
    result = import_known(path, KnownImport())
    assert [g.verdict.outcome.value for g in result.graded] == ["ungraded", "correct"]
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"completions_00001\.parquet is no sound Parquet file"):
        import_known(path, KnownImport())


def sample(number: int, epoch: int, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"answer {number}.{epoch}"}
    return {
        "id": number,
        "epoch": epoch,
        "input": "2+2",
        "target": "4",
        "output": {"choices": [{"message": message, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C", "answer": "4"}},
        **more,
    }


HEADER = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "m"}}


def archive(path: Path, samples: list[dict[str, Any]], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("_journal/start.json", json.dumps(HEADER))
        for one in samples:
            file.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        file.writestr("header.json", json.dumps(HEADER))
    return path


SAMPLES = [sample(number, epoch) for number in (1, 2) for epoch in (1, 2)]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_inspect_archives(tmp_path: Path, method: int) -> None:
    result = import_known(archive(tmp_path / "a.eval", SAMPLES, method), KnownImport())
    assert [(r.completion.text, r.id.index) for r in result.rollouts] == [
        ("answer 1.1", 0), ("answer 1.2", 1), ("answer 2.1", 0), ("answer 2.2", 1),
    ]  # fmt: skip
    assert [policy.name for policy in result.policies] == ["m"]
    assert {prompt.task for prompt in result.prompts} == {"sums"}
    assert result.report.n_correct == 4


def test_a_cut_archive_gives_its_whole_members(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", SAMPLES)
    data = path.read_bytes()
    third = data.index(b"samples/2_epoch_2.json")
    path.write_bytes(data[: third + 40])
    result = import_known(path, KnownImport())
    assert len(result.rollouts) == 3
    assert any("is cut" in one for one in result.report.warnings)


def test_a_damaged_member_costs_one_sample(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.eval", SAMPLES, zipfile.ZIP_STORED)
    path.write_bytes(path.read_bytes().replace(b'{"id": 2, "epoch": 1', b'{"id" 2, "epoch": 1 '))
    with pytest.raises(DataError, match=r"samples/2_epoch_1\.json is no JSON"):
        import_known(path, KnownImport())
    result = import_known(path, KnownImport(skip_broken=True))
    assert (len(result.rollouts), result.report.n_bad_rows) == (3, 1)


VALUES = [
    ("C", "c"), ("I", "w"), ("P", "w"), ("N", "w"), (True, "c"), (1, "c"), (0.5, "w"),
    ("1.0", "c"), ("yes", "c"), (float("nan"), "u"), (None, "u"), ("odd", "u"), ({"a": 1}, "u"),
]  # fmt: skip


def test_inspect_values_and_failures(tmp_path: Path) -> None:
    rows = [
        sample(i, 1, scores={"match": {"value": value}}) for i, (value, _) in enumerate(VALUES, 1)
    ]
    rows.append(sample(50, 1, error={"message": "sandbox died"}))
    rows.append(sample(51, 1, output={"choices": []}))
    rows.append(sample(52, 1, limit={"type": "token"}))
    result = import_known(archive(tmp_path / "a.eval", rows), KnownImport())
    said = "".join(graded.verdict.outcome.value[0] for graded in result.graded)
    assert said == "".join(letter for _, letter in VALUES) + "uuc"
    assert result.report.reasons["engine: sandbox died"] == 1
    assert result.report.reasons["engine: no completion in the source"] == 1
    assert result.report.n_truncated == 1


def test_inspect_reads_parts_and_what_is_kept_beside_the_sample(tmp_path: Path) -> None:
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "attachment://abc"},
        {"type": "image", "image": "data:"},
    ]
    output = {"choices": [{"message": {"content": parts}, "stop_reason": "unknown"}]}
    kept = sample(1, 1, output=output, attachments={"abc": "the answer"}, input=[
        {"role": "user", "content": "attachment://abc"}])  # fmt: skip
    result = import_known(archive(tmp_path / "a.eval", [kept]), KnownImport())
    assert result.rollouts[0].completion.text == "<think>\nhm\n</think>\nthe answer\n[image]"
    assert result.prompts[0].text == "the answer"
    lost = sample(1, 1, output=output)
    with pytest.raises(DataError, match="keeps its text elsewhere"):
        import_known(archive(tmp_path / "a.eval", [lost]), KnownImport())


def test_inspect_scorers_must_be_chosen(tmp_path: Path) -> None:
    rows = [sample(1, 1, scores={"a": {"value": 1}, "b": {"value": 0}})]
    path = archive(tmp_path / "a.eval", rows)
    with pytest.raises(UserError, match="2 scorers, a, b"):
        import_known(path, KnownImport())
    result = import_known(path, KnownImport(choices=Choices(score="b")))
    assert result.report.n_wrong == 1


@pytest.mark.parametrize("indent", [None, 2])
def test_inspect_json_logs_whole_and_cut(tmp_path: Path, indent: int | None) -> None:
    text = json.dumps({**HEADER, "samples": SAMPLES, "reductions": []}, indent=indent)
    path = tmp_path / "a.json"
    path.write_text(text)
    assert len(import_known(path, KnownImport()).rollouts) == 4
    path.write_text(text[: text.index("answer 2.2")])
    result = import_known(path, KnownImport())
    assert len(result.rollouts) == 3
    assert any("is cut" in one for one in result.report.warnings)
    path.write_text(text.replace('"answer 2.1"', '"answer" 2.1'))
    with pytest.raises(DataError, match="JSON document"):
        import_known(path, KnownImport())


def chunked(data: bytes, size: int) -> Iterator[bytes]:
    stream = io.BytesIO(data)
    while chunk := stream.read(size):
        yield chunk


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(
    items=st.lists(json_values, max_size=5),
    rest=st.dictionaries(st.sampled_from(["a", "b", "é"]), json_values),
    size=st.integers(1, 40),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
)
def test_a_document_in_chunks_of_any_size(
    items: list[Any], rest: dict[str, Any], size: int, indent: int | None, ascii_only: bool
) -> None:
    document = {**rest, "samples": items}
    data = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()
    found = list(members(chunked(data, size), "samples"))
    assert found == [*rest.items(), *(("samples", item) for item in items)]
    with pytest.raises(CutError):
        list(members(chunked(data[:-1], size), "samples"))


junk = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=60).map(lambda tail: b"PK\x03\x04" + tail),
    st.binary(max_size=60).map(lambda tail: b'{"version": 2, "status": "x", ' + tail),
    st.binary(max_size=60).map(lambda tail: b"\x28\xb5\x2f\xfd" + tail),
    st.lists(
        st.sampled_from([lines(1).strip(), b"{", b"null", b'{"input": 1, "output": []}']),
        max_size=5,
    ).map(b"\n".join),
)


@settings(max_examples=80, deadline=None)
@given(content=junk, skip=st.booleans())
def test_random_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, skip: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "junk"
    path.write_bytes(content)
    try:
        result = import_known(path, KnownImport(skip_broken=skip))
    except UserError:
        return
    assert len(result.rollouts) == result.report.n_rollouts > 0
