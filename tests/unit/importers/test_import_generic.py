from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.importers import (
    GenericImport,
    ImportResult,
    import_generic,
    import_into,
    parse_field_map,
)
from rewardable.records import UNKNOWN_SPEC, FinishReason, Message, Outcome, SamplingSpec
from rewardable.store import Run

BASE = "prompt=q,completion=a,score=s"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def read(path: Path, rows: list[dict[str, Any]], fields: str = BASE, **config: Any) -> ImportResult:
    mapped = GenericImport(fields=parse_field_map(fields), **config)
    return import_generic(write(path, rows), mapped)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "dump.jsonl"


def test_one_row_per_rollout(file: Path) -> None:
    rows = [{"q": q, "a": f"{q}{i}", "s": i == 1} for i in range(2) for q in ("x", "y")]
    result = read(file, rows, policy="base", task="sums")
    assert [prompt.text for prompt in result.prompts] == ["x", "y"]
    assert {prompt.task for prompt in result.prompts} == {"sums"}
    assert [policy.name for policy in result.policies] == ["base"]
    assert [(r.completion.text, r.id.index) for r in result.rollouts] == [
        ("x0", 0), ("y0", 0), ("x1", 1), ("y1", 1),
    ]  # fmt: skip
    assert [g.verdict.outcome for g in result.graded] == [Outcome.WRONG] * 2 + [Outcome.CORRECT] * 2
    assert {r.id.spec_key for r in result.rollouts} == {UNKNOWN_SPEC}
    report = result.report
    assert (report.n_prompts, report.n_rollouts, report.n_per_prompt) == (2, 4, (2, 2))
    assert "sampling parameters unknown" in report.assumptions[0]
    assert any("success: true or 1" in line for line in report.assumptions)
    assert all(report.sha256 in rollout.provenance for rollout in result.rollouts)


def test_one_row_per_prompt_with_lists(file: Path) -> None:
    rows = [
        {
            "q": "x",
            "a": ["1", "2", "3"],
            "s": [1, 0, None],
            "p": ["one", "", None],
            "f": ["stop"] * 3,
        },
        {"q": "y", "a": ["4"], "s": [float("nan")], "p": [4], "f": ["weird"]},
        {"q": "z", "a": [], "s": [], "p": [], "f": []},
    ]
    result = read(file, rows, f"{BASE},label.answer=p,finish_reason=f")
    assert [(r.completion.text, r.id.index) for r in result.rollouts] == [
        ("1", 0), ("2", 1), ("3", 2), ("4", 0),
    ]  # fmt: skip
    said = [graded.verdict for graded in result.graded]
    assert [verdict.outcome.value for verdict in said] == ["correct", "wrong"] + ["ungraded"] * 2
    assert [verdict.reason for verdict in said] == ["", "", "no score: missing", "no score: nan"]
    assert [dict(verdict.labels) for verdict in said] == [
        {"answer": "one"},
        {},
        {},
        {"answer": "4"},
    ]
    assert result.report.reasons == {"no score: missing": 1, "no score: nan": 1}
    assert any("finish reasons taken as unknown: 'weird'" in w for w in result.report.warnings)
    assert any("between 1 and 3 samples" in warning for warning in result.report.warnings)


def test_lists_must_match(file: Path) -> None:
    with pytest.raises(DataError, match="row 1: 2 completions, but 3 values of score"):
        read(file, [{"q": "x", "a": ["1", "2"], "s": [1, 0, 0]}])
    with pytest.raises(DataError, match="row 1: 2 completions, but 1 values of score"):
        read(file, [{"q": "x", "a": ["1", "2"], "s": 1}])


def test_messages_on_both_sides(file: Path) -> None:
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "2+2"}]
    rows = [{"q": turns, "a": [{"role": "assistant", "content": "4"}], "s": 1}]
    result = read(file, rows)
    assert result.prompts[0].messages == (
        Message(role="system", content="be brief"),
        Message(role="user", content="2+2"),
    )
    assert result.rollouts[0].completion.text == "4"
    assert len(result.rollouts) == 1


@pytest.mark.parametrize(
    ("rule", "scores", "expected"),
    [
        (">= 1", [1, 0.99, 2, True, "1.0"], "cwccc"),
        ("== 1", [1, 2, 0.1, False], "cwww"),
        ("=1", [1, 0], "cw"),
        ("> 0", [0.1, 0, -1, "NaN", ""], "cwwuu"),
        ("<= -0.5", [-1, 0], "cw"),
        (None, [1, 0, True, False, 1.0, "true", "False", None], "cwcwccwu"),
        (">= 0.5", [float("inf"), 0.5, float("nan")], "ucu"),
    ],
)
def test_success_rules(file: Path, rule: str | None, scores: list[Any], expected: str) -> None:
    rows = [{"q": "x", "a": "y", "s": score} for score in scores]
    result = read(file, rows, success=rule)
    assert "".join(graded.verdict.outcome.value[0] for graded in result.graded) == expected


def test_without_a_rule_graded_scores_are_refused(file: Path) -> None:
    rows = [{"q": "x", "a": "y", "s": 1}, {"q": "x", "a": "z", "s": 0.1}]
    with pytest.raises(DataError, match=r"row 2: score is 0\.1, neither 0 nor 1.*give a success"):
        read(file, rows)
    for rule in ("1", ">= one", "> 0 or so", "> 1.2.3"):
        with pytest.raises(ConfigError, match="success rule"):
            read(file, rows, success=rule)


def test_scores_outside_the_unit_interval_keep_their_value(file: Path) -> None:
    result = read(file, [{"q": "x", "a": "y", "s": -3}], success="> 0")
    verdict = result.graded[0].verdict
    assert (verdict.outcome, verdict.score, dict(verdict.parts)) == (
        Outcome.WRONG,
        None,
        {"raw": -3},
    )
    assert (verdict.verifier, verdict.version) == ("imported:s", "score > 0")
    assert any("outside [0, 1]" in warning for warning in result.report.warnings)


def test_failed_and_truncated_rows_are_their_own_outcome(file: Path) -> None:
    rows = [
        {"q": "x", "a": "y", "s": 0, "e": None, "f": "length"},
        {"q": "x", "a": "half", "s": 0, "e": "timeout", "f": "stop"},
        {"q": "x", "a": None, "s": 0, "f": "eos"},
        {"q": "x", "a": "y", "s": 1, "e": "", "f": "abort"},
        {"q": "x", "a": "y", "s": 1, "e": False, "f": False},
        {"q": "x", "a": "y", "s": 1, "f": True},
    ]
    result = read(file, rows, f"{BASE},error=e,finish_reason=f")
    finishes = [rollout.completion.finish_reason for rollout in result.rollouts]
    failed, cut, stop = FinishReason.FAILED, FinishReason.LENGTH, FinishReason.STOP
    assert finishes == [cut, failed, failed, failed, stop, cut]
    assert result.report.reasons == {
        "engine: timeout": 1,
        "engine: no completion in the source": 1,
        "engine: failed in the source": 1,
    }
    assert (result.report.n_failed, result.report.n_truncated) == (3, 2)
    assert result.rollouts[1].completion.text == "half"


def test_prompt_keys_by_normalised_text_and_gold_answer(file: Path) -> None:
    rows = [
        {"q": "2 + 2", "t": "4", "a": "4", "s": 1},
        {"q": " 2 +\r\n2 ", "t": "4", "a": "5", "s": 0},
        {"q": "2 + 2", "t": "5", "a": "5", "s": 1},
    ]
    result = read(file, rows, f"{BASE},truth=t")
    assert [rollout.id.index for rollout in result.rollouts] == [0, 1, 0]
    assert [prompt.facts["answer"] for prompt in result.prompts] == ["4", "5"]
    assert any(warning.startswith("1 prompt texts differ") for warning in result.report.warnings)


def test_prompt_keys_by_id(file: Path) -> None:
    fields = f"{BASE},prompt_id=i,task=t"
    rows = [{"i": 1, "t": "a", "q": "x", "a": "y", "s": 1}]
    first = read(file, rows, fields).prompts[0].key
    assert read(file, [{**rows[0], "i": "1"}], fields).prompts[0].key == first
    assert read(file, [{**rows[0], "i": 1.0}], fields).prompts[0].key == first
    assert read(file, [{**rows[0], "t": "b"}], fields).prompts[0].key != first
    with pytest.raises(DataError, match="rows 1 and 3 name the same prompt, but its text or facts"):
        read(file, [*rows, {**rows[0], "i": 2}, {**rows[0], "q": "other"}], fields)
    for bad in (None, "", [1], 1.5):
        with pytest.raises(DataError, match=r"row 1: (prompt_id is|neither)"):
            read(file, [{**rows[0], "i": bad, "q": None}], fields)


def test_facts_that_differ_are_refused(file: Path) -> None:
    rows = [{"q": "x", "a": "y", "s": 1, "l": level} for level in (1, 2)]
    with pytest.raises(DataError, match="rows 1 and 2 hold the same prompt with other facts"):
        read(file, rows, f"{BASE},fact.level=l")
    rows[1]["q"] = " x"
    with pytest.raises(DataError, match="rows 1 and 2 hold the same prompt with other facts"):
        read(file, rows, f"{BASE},fact.level=l")


def test_given_indices(file: Path) -> None:
    rows = [{"q": "x", "a": "y", "s": 1, "i": i} for i in (7, 3)]
    result = read(file, rows, f"{BASE},index=i")
    assert [rollout.id.index for rollout in result.rollouts] == [7, 3]
    with pytest.raises(DataError, match="rows 1 and 3 are the same sample"):
        read(file, [*rows, rows[0]], f"{BASE},index=i")
    with pytest.raises(DataError, match=r"row 1: index is '1\.5', expected a whole number"):
        read(file, [{**rows[0], "i": 1.5}], f"{BASE},index=i")


def test_a_prompt_with_two_list_rows_is_refused(file: Path) -> None:
    rows = [{"q": "x", "a": ["1"], "s": [1]}, {"q": "y", "a": ["1"], "s": [1]}]
    with pytest.raises(DataError, match="rows 1 and 3 are the same sample"):
        read(file, [*rows, rows[0]])


def test_policies_and_nested_columns(file: Path) -> None:
    rows = [{"m": {"name": n}, "q": "x", "a": "y", "r": {"acc": {"value": 1}}} for n in "ab"]
    result = read(file, rows, "policy=m.name,prompt=q,completion=a,score=r.acc.value")
    assert [policy.name for policy in result.policies] == ["a", "b"]
    assert len({rollout.id.policy_key for rollout in result.rollouts}) == 2
    assert result.report.n_correct == 2


def test_training_steps_are_warned_of(file: Path) -> None:
    rows = [{"q": "x", "a": "y", "s": 1, "step": step} for step in (1, 1, 2)]
    assert any("from 2 training steps" in warning for warning in read(file, rows).report.warnings)


def test_a_misspelt_column_is_named_with_its_neighbours(file: Path) -> None:
    rows = [{"question": "x", "answer": "y", "score": 1}]
    said = (
        "dump.jsonl row 1 has no column 'quesion'; it has: answer, question, score. "
        "Did you mean 'question'?"
    )
    with pytest.raises(DataError, match=f"^{re.escape(said)}$"):
        read(file, rows, "prompt=quesion,completion=answer,score=score")
    said = (
        "dump.jsonl: for score, no row has a column 'scor'; they have: answer, question, score. "
        "Did you mean 'score'?"
    )
    with pytest.raises(DataError, match=f"^{re.escape(said)}$"):
        read(file, rows, "prompt=question,completion=answer,score=scor")
    with pytest.raises(DataError, match=r"row 1 has no column 'answer'; it has: none\.$"):
        read(file, [{}], "prompt=prompt,completion=answer")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("prompt=a,compleiton=b", "unknown field 'compleiton'. Did you mean 'completion'"),
        ("completion=b", "give prompt, prompt_id, or both"),
        ("prompt=a,n=b", "counts need both n and c"),
        ("prompt=a", "give either completion, or n and c"),
        ("prompt=a,n=b,c=d,score=e", "counts take no score"),
        ("prompt=a,completion=b,label.x=c", "labels belong to verdicts"),
        ("prompt=a,completion=b,label.=c", "unknown field 'label.'"),
    ],
)
def test_maps_that_cannot_be_meant(file: Path, fields: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(file, [], fields)


@pytest.mark.parametrize("text", ["prompt", "prompt=", "=a", "prompt=a,prompt=b"])
def test_map_texts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ConfigError, match="field map"):
        parse_field_map(text)


def test_formats(tmp_path: Path) -> None:
    config = GenericImport(fields=parse_field_map(BASE))
    rows = [{"q": "x", "a": [{"role": "assistant", "content": "y"}], "s": 1.0}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    assert import_generic(tmp_path / "a.parquet", config).rollouts[0].completion.text == "y"
    write(tmp_path / "dump", rows)
    with pytest.raises(ConfigError, match="cannot tell the format of dump"):
        import_generic(tmp_path / "dump", config)
    with pytest.raises(ConfigError, match="unknown file format 'xlsx'"):
        import_generic(tmp_path / "dump", GenericImport(fields=config.fields, format="xlsx"))
    named = GenericImport(fields=config.fields, format="jsonl")
    assert import_generic(tmp_path / "dump", named).report.n_correct == 1


def test_counts(file: Path) -> None:
    rows = [{"m": m, "p": p, "n": 70_000, "c": p} for m in "ab" for p in range(3)]
    fields = "policy=m,prompt_id=p,n=n,c=c"
    result = read(file, rows, fields)
    assert [(item.n, item.c) for item in result.counts] == [(70_000, p) for p in (0, 1, 2)] * 2
    report = result.report
    assert (report.n_counts, report.n_prompts, result.rollouts) == (6, 3, ())
    assert (report.n_correct, report.n_wrong, report.n_ungraded) == (6, 6 * 70_000 - 6, 0)
    with pytest.raises(DataError, match="row 1: expected 0 <= c <= n"):
        read(file, [{**rows[0], "c": 70_001}], fields)
    with pytest.raises(DataError, match="rows 1 and 7 are the same sample"):
        read(file, [*rows, rows[0]], fields)
    for bad in (1.5, None, True, "many", float("nan"), float("inf"), [1]):
        with pytest.raises(DataError, match="expected a whole number"):
            read(file, [{**rows[0], "n": bad}], fields)


def test_into_a_run_and_on(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    rows = [{"q": "x", "a": str(i), "s": i % 2} for i in range(5)]
    config = GenericImport(fields=parse_field_map(BASE), policy="base", spec=SamplingSpec())
    report = import_into(run, write(tmp_path / "seed0.jsonl", rows), config)
    assert report.n_rollouts == 5
    with pytest.raises(DataError, match=r"seed0\.jsonl was imported for policy 'base' before"):
        import_into(run, tmp_path / "seed0.jsonl", config)
    more = [{**row, "a": f"more {row['a']}"} for row in rows]
    import_into(run, write(tmp_path / "seed1.jsonl", more), config)
    place = {"policy_key": report.policies["base"], "spec_key": SamplingSpec().key}
    samples = run.samples(**place)
    assert samples.index_R.tolist() == list(range(10))
    assert (samples.n_P.tolist(), samples.c_P.tolist()) == ([10], [4])
    assert run.specs() == [SamplingSpec()]


def test_an_import_that_fails_leaves_no_rows(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    rows = [{"q": f"x{i}", "a": "y", "s": 1} for i in range(5000)]
    config = GenericImport(fields=parse_field_map(BASE))
    with pytest.raises(DataError, match="row 5001: score"):
        import_into(run, write(tmp_path / "a.jsonl", [*rows, {**rows[0], "s": "?"}]), config)
    assert run.groups() == []
    assert import_into(run, write(tmp_path / "a.jsonl", rows), config).n_rollouts == 5000
    assert run.groups()[0].n_rollouts == 5000


def test_counts_into_a_run(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", {})
    rows = [{"p": p, "n": 10, "c": p} for p in range(3)]
    config = GenericImport(fields=parse_field_map("prompt_id=p,n=n,c=c"), policy="base", task="t")
    report = import_into(run, write(tmp_path / "a.jsonl", rows), config)
    counts = run.counts(policy_key=report.policies["base"], task="t")
    assert sorted(counts.c_P.tolist()) == [0, 1, 2]
    (tmp_path / "b.jsonl").touch()
    with pytest.raises(DataError, match=r"no rows in b\.jsonl.*at least one count"):
        import_into(run, tmp_path / "b.jsonl", replace(config, policy="other"))
    assert [policy.name for policy in run.policies()] == ["base"]
    with pytest.raises(DataError, match="imported for policy 'base' before"):
        import_into(run, tmp_path / "a.jsonl", config)


def test_qwen_math_rollouts(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "data" / "rollouts" / "qwen25math_math_100x8.jsonl"
    fields = parse_field_map("prompt=question,completion=code,score=score,prompt_id=idx,truth=gt")
    run = Run.create(tmp_path / "run", {})
    report = import_into(run, path, GenericImport(fields=fields, policy="qwen"))
    lines = path.read_text(encoding="utf-8").split("\n")
    scores = [json.loads(line)["score"] for line in lines if line]
    samples = run.samples(policy_key=report.policies["qwen"], spec_key=UNKNOWN_SPEC)
    assert report.n_correct == 728
    assert sorted(samples.c_P) == sorted(map(sum, scores))
    assert samples.n_P.tolist() == [8] * 100


def test_pythia_counts(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "data" / "rollouts" / "pass_at_k_large_language_monkeys_pythia.jsonl"
    fields = parse_field_map("policy=model,task=benchmark,prompt_id=problem_idx,n=n,c=c")
    run = Run.create(tmp_path / "run", {})
    report = import_into(run, path, GenericImport(fields=fields))
    assert (report.n_counts, report.n_prompts, len(report.policies)) == (1792, 256, 7)
    assert report.n_per_prompt == (128, 79_488)
    rows = [json.loads(line) for line in path.read_text().split("\n") if line]
    for name, key in report.policies.items():
        for task in ("GSM8K", "MATH"):
            counts = run.counts(policy_key=key, task=task)
            raw = [row for row in rows if (row["model"], row["benchmark"]) == (name, task)]
            assert sorted(zip(counts.n_P, counts.c_P, strict=True)) == sorted(
                (row["n"], row["c"]) for row in raw
            )
