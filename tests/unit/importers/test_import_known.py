"""Dumps told by their content, by the fields that each tool documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.importers import Choices, ImportResult, KnownImport, import_known, parse_steps

VERL = {"input": "user\n2+2", "output": "4", "gts": "4", "score": 1.0, "step": 5}


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def read(path: Path, rows: list[Any], **config: Any) -> ImportResult:
    return import_known(write(path, rows), KnownImport(**config))


def outcomes(result: ImportResult) -> str:
    return "".join(graded.verdict.outcome.value[0] for graded in result.graded)


def test_verl_classic_training(tmp_path: Path) -> None:
    rows = [VERL, {**VERL, "output": "5", "score": 0.0}, {**VERL, "score": float("nan")}]
    result = read(tmp_path / "rollouts" / "5.jsonl", rows)
    assert outcomes(result) == "cwu"
    assert [policy.name for policy in result.policies] == ["rollouts@5"]
    assert result.prompts[0].facts == {"answer": "4"}
    assert result.report.format == "a verl generation dump, JSON Lines"
    said = " ".join(result.report.assumptions)
    assert "a training dump of the classic trainer" in said
    assert "success: score >= 1 (column 'score')" in said
    assert any("groups may have been filtered" in one for one in result.report.warnings)
    assert any("after any shaping" in one for one in result.report.warnings)


def test_verl_prefers_acc_to_a_shaped_score(tmp_path: Path) -> None:
    rows = [
        {**VERL, "score": 0.4, "acc": True, "pred": "4", "reward": 0.4},
        {**VERL, "score": -1.0, "acc": False, "pred": "9", "reward": -1.0},
    ]
    result = read(tmp_path / "7.jsonl", rows)
    assert outcomes(result) == "cw"
    assert [dict(graded.verdict.labels) for graded in result.graded] == [
        {"answer": "4"}, {"answer": "9"},
    ]  # fmt: skip
    assert any("a validation dump" in one for one in result.report.assumptions)
    assert not any("filtered" in one for one in result.report.warnings)
    shaped = read(tmp_path / "7.jsonl", rows, choices=Choices(score="score"), success="> 0")
    assert outcomes(shaped) == "cw"
    assert "scores take the values -1 (1), 0.4 (1)" in shaped.report.assumptions


def test_verl_v1_leaves_out_copies_and_refuses_contradictions(tmp_path: Path) -> None:
    rows = [{**VERL, "uid": f"a_{i}_0", "output": f"4{i}"} for i in range(3)]
    result = read(tmp_path / "1.jsonl", [*rows, rows[1]])
    assert len(result.rollouts) == 3
    assert result.report.skipped == {"copies of an earlier row": 1}
    other = {**rows[1], "output": "other"}
    with pytest.raises(DataError, match="row 4 names the same sample as an earlier row"):
        read(tmp_path / "1.jsonl", [*rows, other])
    kept = read(tmp_path / "1.jsonl", [*rows, other], skip_broken=True)
    assert (len(kept.rollouts), kept.report.n_bad_rows) == (3, 1)


def test_verl_references_of_any_json_type(tmp_path: Path) -> None:
    rows = [{**VERL, "gts": {"target": 24, "numbers": [4, 6]}}, {**VERL, "gts": ["4", 4.0]}]
    result = read(tmp_path / "1.jsonl", rows)
    assert [prompt.facts["answer"] for prompt in result.prompts] == [
        {"target": 24, "numbers": [4, 6]}, ["4", 4.0],
    ]  # fmt: skip


def test_a_folder_of_steps(tmp_path: Path) -> None:
    for step in (10, 2, 1):
        write(tmp_path / "dump" / f"{step}.jsonl", [{**VERL, "step": step}] * 2)
    result = import_known(tmp_path / "dump", KnownImport())
    assert len(result.rollouts) == 6
    assert any("from 3 training steps" in one for one in result.report.warnings)
    assert any("--step each" in one for one in result.report.warnings)
    one = import_known(tmp_path / "dump", KnownImport(steps=parse_steps("2")))
    assert len(one.rollouts) == 2
    assert one.report.skipped == {"of other training steps": 4}
    assert not any("training steps:" in line for line in one.report.warnings)
    some = import_known(tmp_path / "dump", KnownImport(steps=parse_steps("2-10")))
    assert len(some.rollouts) == 4
    each = import_known(tmp_path / "dump", KnownImport(steps=parse_steps("each")))
    assert [policy.name for policy in each.policies] == ["dump@1", "dump@2", "dump@10"]
    assert not any("training steps" in line for line in each.report.warnings)
    with pytest.raises(DataError, match="6 rows left out: of other training steps"):
        import_known(tmp_path / "dump", KnownImport(steps=parse_steps("77")))


def test_a_damaged_file_of_a_folder_costs_that_file_alone(tmp_path: Path) -> None:
    write(tmp_path / "d" / "1.jsonl", [VERL] * 3)
    torn = write(tmp_path / "d" / "2.jsonl", [VERL] * 3)
    torn.write_text(torn.read_text() + '\n{"input": "x')
    (tmp_path / "d" / "3.parquet").write_bytes(b"PAR1 and nothing more")
    write(tmp_path / "d" / "metrics.jsonl", [{"loss": 1.0}])
    result = import_known(tmp_path / "d", KnownImport())
    assert len(result.rollouts) == 6
    said = " ".join(result.report.warnings)
    assert "2.jsonl: the last record, line 4, is unfinished" in said
    assert "not readable: 3.parquet is no sound Parquet file" in said
    assert "something else: metrics.jsonl" in said


@pytest.mark.parametrize("text", ["x", "1-", "-3", "1-b", "all"])
def test_steps_that_cannot_be_meant(text: str) -> None:
    with pytest.raises(ConfigError, match="--step must be"):
        parse_steps(text)


def lm_row(**more: Any) -> dict[str, Any]:
    return {
        "doc_id": 0,
        "filter": "none",
        "resps": [["#### 5"]],
        "filtered_resps": ["5"],
        "exact_match": 1.0,
        "target": "5",
        **more,
    }


def test_d04_a_filter_is_another_reading_and_no_sample(
    cases: dict[str, Any], tmp_path: Path
) -> None:
    lines = [json.loads(line) for line in cases["D04"]["input"]["lines"]]
    path = tmp_path / "samples_gsm8k_2026-01-01T00-00-00.jsonl"
    with pytest.raises(ConfigError, match=r"'strict-match' and 'flexible-extract'.*--filter"):
        read(path, lines)
    for name, expected in (("strict-match", "cw"), ("flexible-extract", "cc")):
        result = read(path, lines, choices=Choices(filter=name))
        assert outcomes(result) == expected
        assert (result.report.n_prompts, result.report.n_per_prompt) == (2, (1, 1))
        assert result.prompts[0].task == "gsm8k"
        (why,) = result.report.skipped
        assert f"not {name!r}" in why
    with pytest.raises(DataError, match="no rows in"):
        read(path, lines, choices=Choices(filter="another"))


def test_d04_repeats_are_samples_that_the_metric_does_not_judge(tmp_path: Path) -> None:
    rows = [lm_row(resps=[["a", "b", "c", "d"]], filtered_resps=["a"])]
    result = read(tmp_path / "s.jsonl", rows)
    assert [rollout.completion.text for rollout in result.rollouts] == ["a", "b", "c", "d"]
    assert [rollout.id.index for rollout in result.rollouts] == [0, 1, 2, 3]
    assert outcomes(result) == "uuuu"
    assert any("judges the filtered one alone" in one for one in result.report.warnings)


def test_lm_eval_keys_on_the_prompt_as_it_was_sent(tmp_path: Path) -> None:
    new = {"gen_args_0": {"arg_0": "Q: 2+3", "arg_1": {"temperature": 0.6, "until": ["\n"]}}}
    rows = [lm_row(arguments=new, prompt_hash="x")]
    result = read(tmp_path / "s.jsonl", rows)
    assert result.prompts[0].text == "Q: 2+3"
    assert "as logged of sampling: temperature 0.6" in result.report.assumptions
    old = read(tmp_path / "s.jsonl", [lm_row(arguments=[["Q: 2+3", {}]], prompt_hash="y")])
    assert old.prompts[0].text == "Q: 2+3"
    assert old.prompts[0].key != result.prompts[0].key


def test_lm_eval_metrics_must_be_chosen_and_likelihoods_are_refused(tmp_path: Path) -> None:
    rows = [lm_row(f1=0.5, metrics=["exact_match", "f1"])]
    with pytest.raises(ConfigError, match=r"2 metrics, exact_match, f1.*--score"):
        read(tmp_path / "s.jsonl", rows)
    assert outcomes(read(tmp_path / "s.jsonl", rows, choices=Choices(score="f1"))) == "w"
    with pytest.raises(ConfigError, match=r"unknown metric of s\.jsonl: 'f2'\. Did you mean 'f1'"):
        read(tmp_path / "s.jsonl", rows, choices=Choices(score="f2"))
    with pytest.raises(DataError, match="log-likelihood tasks have no samples"):
        read(tmp_path / "s.jsonl", [lm_row(resps=[[[-1.5, True]], [[-2.5, False]]])])


def test_math_eval_with_and_without_scores(tmp_path: Path) -> None:
    row = {"idx": 0, "question": "2+2", "gt": "4", "code": ["4", "5"], "pred": ["4", "5"]}
    scored = {**row, "score": [True, False], "finish_reason": ["stop", "length"], "report": [0, 0]}
    result = read(tmp_path / "test_x_2_seed0_t1.0_s0_e-1.jsonl", [scored])
    assert outcomes(result) == "cw"
    assert result.report.n_truncated == 1
    bare = read(tmp_path / "a.jsonl", [row])
    assert (len(bare.rollouts), bare.graded) == (2, ())
    assert any("--regrade" in one for one in bare.report.warnings)


def test_human_eval_samples_and_results(tmp_path: Path) -> None:
    rows = [{"task_id": "HumanEval/0", "completion": f"return {i}"} for i in range(2)]
    assert read(tmp_path / "samples.jsonl", rows).graded == ()
    judged = [{**rows[0], "passed": True, "result": "passed"}, {**rows[1], "passed": False}]
    assert outcomes(read(tmp_path / "results.jsonl", judged)) == "cw"


def test_plain_counts_as_lines_and_as_a_table(tmp_path: Path) -> None:
    result = read(tmp_path / "base.jsonl", [{"id": "a", "n": 8, "c": 3}, {"id": 7, "n": 8, "c": 0}])
    assert [(item.n, item.c) for item in result.counts] == [(8, 3), (8, 0)]
    table = tmp_path / "t.csv"
    table.write_text("model,task,problem_id,n,c\nm1,gsm8k,1,4,2\nm2,gsm8k,1,4,4\n")
    read_back = import_known(table, KnownImport())
    assert sorted(read_back.report.policies) == ["m1", "m2"]
    assert {prompt.task for prompt in read_back.prompts} == {"gsm8k"}
    with pytest.raises(DataError, match="expected 0 <= c <= n"):
        read(tmp_path / "base.jsonl", [{"id": "a", "n": 2, "c": 3}])


def test_what_nobody_wrote_is_refused_with_what_is_known(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", [{"question": "a", "reply": "b"}])
    with pytest.raises(ConfigError, match=r"cannot tell.*question, reply.*--map.*lm-eval: JSON"):
        import_known(path, KnownImport())
    with pytest.raises(ConfigError, match=r"unknown dump format 'vrel'\. Did you mean 'verl'"):
        import_known(path, KnownImport(format="vrel"))
    path = write(tmp_path / "5.jsonl", [VERL])
    with pytest.raises(ConfigError, match=r"cannot tell which tool wrote 5\.jsonl.*trl: Parquet"):
        import_known(path, KnownImport(format="trl"))
    with pytest.raises(ConfigError, match="--filter means nothing for a verl generation dump"):
        import_known(path, KnownImport(choices=Choices(filter="strict-match")))
    for name, content in (("empty.jsonl", b""), ("cut.jsonl.gz", b"\x1f\x8b\x08"), ("n", b"\n\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises((DataError, ConfigError)):
            import_known(tmp_path / name, KnownImport())
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="a folder without a readable file"):
        import_known(tmp_path / "folder", KnownImport())


def test_folders_of_several_formats_or_policies_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "a" / "1.jsonl", [VERL])
    write(tmp_path / "a" / "counts.jsonl", [{"id": 1, "n": 1, "c": 1}])
    with pytest.raises(ConfigError, match=r"several formats, verl \(1 files\), counts"):
        import_known(tmp_path / "a", KnownImport())
    assert len(import_known(tmp_path / "a", KnownImport(format="verl")).rollouts) == 1
    for name in ("base", "rl"):
        write(tmp_path / "b" / f"{name}.jsonl", [{"id": 1, "n": 1, "c": 1}])
    with pytest.raises(ConfigError, match="2 files of the format counts; import them one by one"):
        import_known(tmp_path / "b", KnownImport())


def test_what_the_user_says_of_names_goes_before_the_dump(tmp_path: Path) -> None:
    rows = [{"id": 1, "model": "m", "task": "t", "n": 2, "c": 1}]
    result = read(tmp_path / "c.jsonl", rows, policy="mine", task="ours")
    assert [policy.name for policy in result.policies] == ["mine"]
    assert result.prompts[0].task == "ours"
