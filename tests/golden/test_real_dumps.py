"""Dumps that the tools themselves wrote (by ``tests/support/make_*.py``), imported as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewardable.errors import ConfigError, DataError
from rewardable.importers import Choices, KnownImport, import_known, parse_steps
from rewardable.workflows.export import export_counts
from rewardable.workflows.import_dump import import_dump, import_known_dump
from rewardable.workflows.measure import measure
from rewardable.workflows.runs import open_existing

DUMPS = Path(__file__).parent / "dumps"
LM_EVAL = DUMPS / "lm_eval" / "samples_sums_2026-12-01T00-00-00.000000.jsonl"
REPEATED = DUMPS / "lm_eval" / "samples_sums_repeated_2026-12-01T00-00-00.000000.jsonl"
ANSWERS = {
    "2 + 3": ["#### 5", "#### 5", "it is 5", "#### 6"],
    "4 + 4": ["it is 8", "#### 8", "no idea", "#### 8"],
    "9 - 2": ["#### 6", "so 7", "#### 7", "#### 7"],
}


def test_trl_in_both_forms() -> None:
    texts = import_known(DUMPS / "trl_text", KnownImport())
    chats = import_known(DUMPS / "trl_chat", KnownImport(choices=Choices(score="right")))
    assert [p.text for p in texts.prompts] == [p.text for p in chats.prompts]
    assert [r.completion.text for r in texts.rollouts] == [
        r.completion.text for r in chats.rollouts
    ]
    for result in (texts, chats):
        assert (result.report.n_rollouts, result.report.n_per_prompt) == (16, (4, 4))
        for rollout, graded in zip(result.rollouts, result.graded, strict=True):
            text = rollout.completion.text
            expected = "ungraded" if text.startswith("1") else None
            expected = expected or ("correct" if text.count(",") == 2 else "wrong")
            assert graded.verdict.outcome.value == expected
        said = " ".join(result.report.warnings)
        assert "from 2 training steps" in said
        assert "no census" in said
    with pytest.raises(ConfigError, match=r"2 reward columns, right, short.*--score"):
        import_known(DUMPS / "trl_chat", KnownImport())
    one = import_known(DUMPS / "trl_text", KnownImport(steps=parse_steps("2")))
    assert one.report.n_rollouts == 8
    each = import_known(DUMPS / "trl_text", KnownImport(steps=parse_steps("each")))
    assert [policy.name for policy in each.policies] == ["trl_text@1", "trl_text@2"]


def test_lm_eval_single_answers() -> None:
    for name, right in (("strict-match", 1), ("flexible-extract", 2)):
        result = import_known(LM_EVAL, KnownImport(choices=Choices(filter=name)))
        assert result.report.n_correct == right
        assert [r.completion.text for r in result.rollouts] == [a[0] for a in ANSWERS.values()]
        assert [p.text for p in result.prompts] == [f"{question} =" for question in ANSWERS]
        assert {p.task for p in result.prompts} == {"sums"}
        assert "as logged of sampling: do_sample True, temperature 0.7" in result.report.assumptions


def test_lm_eval_repeats_are_regraded(tmp_path: Path) -> None:
    found = import_known_dump(tmp_path / "run", REPEATED, filter="strict-match", regrade_by="gsm8k")
    assert (found.report.n_rollouts, found.report.n_ungraded) == (12, 12)
    assert found.regraded is not None
    assert (found.regraded.n_graded, found.regraded.n_correct) == (12, 9)
    assert found.regraded.pairs == {("ungraded", "correct"): 9, ("ungraded", "wrong"): 3}
    curves = measure(open_existing(tmp_path / "run"))["curves"]
    assert curves.one(metric="pass@k", k=1, band="simultaneous").value == pytest.approx(0.75)


@pytest.mark.parametrize("name", ["sums.eval", "sums.json"])
def test_inspect_ai_archive_and_document(tmp_path: Path, name: str) -> None:
    found = import_known_dump(tmp_path / "run", DUMPS / "inspect_ai" / name, regrade_by="gsm8k")
    report = found.report
    assert (report.n_rollouts, report.n_correct, report.n_wrong) == (12, 9, 3)
    assert (report.n_truncated, report.n_per_prompt) == (1, (4, 4))
    assert list(report.policies) == ["canned/toy"]
    assert found.regraded is not None
    assert (found.regraded.n_both, found.regraded.n_agree) == (12, 12)
    run = open_existing(tmp_path / "run")
    (group,) = run.groups()
    rows = run.rollouts(policy_key=group.policy_key, spec_key=group.spec_key)
    keys = {prompt.key: prompt.text for prompt in run.prompts()}
    for rollout, _ in rows:
        assert rollout.completion.text == ANSWERS[keys[rollout.id.prompt_key]][rollout.id.index]


def test_a_cut_inspect_archive_loses_no_whole_sample(tmp_path: Path) -> None:
    path = tmp_path / "cut.eval"
    data = (DUMPS / "inspect_ai" / "sums.eval").read_bytes()
    path.write_bytes(data[: data.index(b"samples/3_epoch_4.json") - 10])
    result = import_known(path, KnownImport())
    assert result.report.n_rollouts == 11
    assert any("is cut" in one for one in result.report.warnings)


def test_human_eval_with_its_own_verdicts_and_with_ours(tmp_path: Path) -> None:
    folder = DUMPS / "human_eval"
    theirs = import_known(folder / "samples.jsonl_results.jsonl", KnownImport())
    rows = [json.loads(line) for line in open(folder / "samples.jsonl_results.jsonl")]  # noqa: SIM115
    passed = [graded.verdict.outcome.value == "correct" for graded in theirs.graded]
    assert passed == [row["passed"] for row in rows]
    task = f"humaneval:path={folder / 'problems.jsonl'},style=plain,network=any"
    ours = import_known_dump(tmp_path / "run", folder / "samples.jsonl", regrade_by=task)
    assert ours.regraded is not None
    assert (ours.regraded.n_matched, ours.regraded.n_ungraded) == (2, 0)
    assert ours.regraded.n_correct == sum(passed) == 3


def test_qwen_outputs_need_no_field_map(shared_data: Path, tmp_path: Path) -> None:
    dump = shared_data / "data" / "rollouts" / "qwen25math_math_100x8.jsonl"
    found = import_known_dump(tmp_path / "run", dump, policy="qwen", task="math")
    fields = "prompt=question,completion=code,score=score,prompt_id=idx,label.answer=pred,truth=gt"
    mapped = import_dump(tmp_path / "mapped", dump, fields, policy="qwen", task="math")
    assert (found.report.n_correct, found.report.n_wrong) == (728, 72)
    assert (mapped.n_correct, mapped.n_wrong) == (728, 72)
    keys = [sorted(p.key for p in open_existing(tmp_path / x).prompts()) for x in ("run", "mapped")]
    assert keys[0] == keys[1]


def test_counts_go_out_and_come_back(shared_data: Path, tmp_path: Path) -> None:
    name = "pass_at_k_large_language_monkeys_pythia.jsonl"
    dump = shared_data / "data" / "rollouts" / name
    found = import_known_dump(tmp_path / "run", dump)
    assert found.report.n_counts == 1792
    run = open_existing(tmp_path / "run")
    with pytest.raises(ConfigError, match="the run holds 2 tasks, GSM8K, MATH: give --task"):
        export_counts(run, tmp_path / "out")
    out = export_counts(run, tmp_path / "out", task="GSM8K")
    raw = [json.loads(line) for line in dump.read_text(encoding="utf-8").split("\n") if line]
    assert len(out.files) == 7
    for path, (policy, c, n) in out.files.items():
        rows = [r for r in raw if (r["model"], r["benchmark"]) == (policy, "GSM8K")]
        assert (c, n) == (sum(r["c"] for r in rows), sum(r["n"] for r in rows))
        written: list[dict[str, Any]] = [json.loads(line) for line in path.open()]
        assert sorted((r["n"], r["c"]) for r in written) == sorted((r["n"], r["c"]) for r in rows)
        assert all(set(row) == {"id", "c", "n"} for row in written)
        back = import_known(path, KnownImport())
        assert (back.report.n_correct, back.report.n_counts) == (c, len(rows))


def test_an_export_counts_what_every_policy_has(tmp_path: Path) -> None:
    for policy, rows in {
        "base": [{"id": i, "n": 4, "c": i} for i in range(3)],
        "rl": [{"id": i, "n": 4, "c": 0} for i in range(1, 4)] + [{"id": 9, "n": 0, "c": 0}],
    }.items():
        path = tmp_path / f"{policy}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        import_known_dump(tmp_path / "run", path)
    out = export_counts(open_existing(tmp_path / "run"), tmp_path / "out")
    assert (out.n_prompts, out.left_out) == (2, 2)
    assert sorted(path.name for path in out.files) == ["base.jsonl", "rl.jsonl"]
    ids = [{json.loads(line)["id"] for line in path.open()} for path in out.files]
    assert ids[0] == ids[1]
    only = tmp_path / "only.jsonl"
    only.write_text('{"id": "x", "n": 1, "c": 1}')
    import_known_dump(tmp_path / "run", only)
    with pytest.raises(DataError, match="no prompt has graded samples of every policy"):
        export_counts(open_existing(tmp_path / "run"), tmp_path / "out")
