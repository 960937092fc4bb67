"""The guard after the fact: what is read from whom, and that it decides as it would have live."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardable.cli import main
from rewardable.errors import ConfigError, DataError
from rewardable.guard import Audit, Guard, GuardConfig, Observation, PromptAudit, line_of
from rewardable.importers.logs import read_dump, read_metrics
from rewardable.workflows.guarding import replay
from rewardable.workflows.guarding.timeline import timeline_table, write_timeline

P, N = 24, 16
BASE = np.linspace(0.2, 0.8, P)


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def look(rng: np.random.Generator, factor: float) -> Audit:
    counts = rng.binomial(N, BASE * factor)
    prompts = {f"p{i}": PromptAudit(n=N, c=int(c)) for i, c in enumerate(counts)}
    return Audit(task="later", prompts=prompts)


def course(factors: Sequence[float], seed: int = 0) -> list[Observation]:
    """Four looks at the start, then one every ten steps; metrics at every step."""
    rng = np.random.default_rng(seed)
    rows = [Observation(step=0, audits=tuple(look(rng, 1.0) for _ in range(4)))]
    for step in range(1, 10 * len(factors) + 1):
        audits = (look(rng, factors[step // 10 - 1]),) if step % 10 == 0 else ()
        metrics = {"entropy": float(1 + 0.01 * rng.standard_normal()), "loss": 0.1}
        rows.append(Observation(step=step, metrics=metrics, audits=audits))
    return rows


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0), (0.8, 0.4, 0.1)])
def test_a_recorded_run_is_decided_as_it_was_live(
    tmp_path: Path, factors: tuple[float, ...]
) -> None:
    rows, config = course(factors), GuardConfig(allowed=("stop",))
    guard = Guard(config)
    live = [guard.observe(row) for row in rows]
    lines(tmp_path / "guard.jsonl", [line_of(row) for row in rows])
    lines(tmp_path / "metrics.jsonl", [{"step": row.step, **row.metrics} for row in rows[1:]])
    for source in (tmp_path, tmp_path / "guard.jsonl", tmp_path / "metrics.jsonl"):
        found = replay(source, config)
        assert [one.to_dict() for one in found.decisions] == [one.to_dict() for one in live]
        assert found.audits == 4 + len(factors)
    assert (found.decisions[-1].state == "ok") is (min(factors) == 1.0)


def test_metrics_alone_warn_and_unknown_names_are_told(tmp_path: Path) -> None:
    rows = [
        {"step": step, "kind": "train", "entropy": 1.0 if step < 12 else 0.1, "my/score": 1.0}
        for step in range(1, 40)
    ]
    closing = {"step": 39, "kind": "end", "train_runtime": 3.0}
    path = lines(tmp_path / "metrics.jsonl", [*rows, closing])
    found = replay(path, GuardConfig(expected=("kl",)))
    assert [one.state for one in found.spoken] == ["warn"]
    assert found.spoken[0].evidence[0].signal == "entropy"
    assert found.unknown == ("my/score",)
    assert any("kl was expected" in text for text in found.notices)
    named = replay(path, GuardConfig(aliases={"my/score": "held_out_success"}))
    assert named.unknown == ()


def test_trainer_state_of_trl_without_its_evaluation(tmp_path: Path) -> None:
    history = [
        {"step": 1, "loss": 0.1, "entropy": 0.5, "frac_reward_zero_std": 0.0},
        {"step": 1, "eval_loss": 0.3, "eval_entropy": 9.0},
        {"step": 2, "loss": 0.1, "entropy": 0.4, "frac_reward_zero_std": 0.5},
        {"step": 2, "train_runtime": 1.0, "train_loss": 0.1},
    ]
    for step in (9, 10):
        state = {"log_history": history[: 1 if step == 9 else None]}
        lines(tmp_path / f"checkpoint-{step}" / "trainer_state.json", [state])
    for source in (tmp_path, tmp_path / "checkpoint-10" / "trainer_state.json"):
        log = read_metrics(source)
        assert log.format == "TRL"
        assert {step: row["entropy"] for step, row in log.steps.items()} == {1: 0.5, 2: 0.4}
        assert "1 evaluation rows" in log.notes[0]
    assert replay(tmp_path, GuardConfig()).unknown == ()


def verl_row(prompt: int, sample: int, right: bool, **more: Any) -> dict[str, Any]:
    return {"input": f"prompt {prompt}", "output": f"text {sample % 3}", "gts": "x",
            "score": 0.4 * right, "acc": right, "step": 0, **more}  # fmt: skip


def validation(folder: Path, step: int, rates: np.ndarray, rng: np.random.Generator) -> None:
    lines(
        folder / f"{step}.jsonl",
        [
            verl_row(p, i, bool(rng.random() < rate), reward=0.0)
            for p, rate in enumerate(rates)
            for i in range(N)
        ],
    )


def test_metrics_and_validation_dumps_of_verl(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"step": step, "data": {
            "actor/entropy": 0.5, "actor/kl_loss": 0.01, "response_length/mean": 100.0,
            "critic/rewards/mean": 0.3, "val-core/later/acc/mean@16": 0.5, "training/epoch": 0,
        }}
        for step in (1, 2, 3, 2)
    ]  # fmt: skip
    path = lines(tmp_path / "run.jsonl", [*rows, '{"step": 4, "da'])
    path.write_text(path.read_text(encoding="utf-8").rstrip("\n"), encoding="utf-8")
    for step, factor in ((0, 1.0), (1, 0.3), (2, 0.1), (3, 0.05)):
        validation(tmp_path / "val", step, BASE * factor, rng)
    found = replay(path, GuardConfig(), (tmp_path / "val",))
    assert (found.format, found.audits) == ("verl", 4)
    assert found.unknown == ("val-core/later/acc/mean@16",)
    assert "cut off" in found.notes[0]
    assert [one.step for one in found.decisions] == [0, 1, 2, 3]
    assert found.decisions[-1].state == "act"
    assert {e.task for e in found.decisions[-1].evidence if e.fallen} == {"val"}


def test_training_dumps_of_verl_give_numbers_of_groups_and_are_no_look(tmp_path: Path) -> None:
    rows = [verl_row(p, i, right=p == 0 or (p == 1 and i == 0)) for p in range(4) for i in range(8)]
    lines(tmp_path / "train" / "5.jsonl", rows)
    path = lines(tmp_path / "run.jsonl", [{"step": 5, "data": {"actor/entropy": 0.5}}])
    found = replay(path, GuardConfig(), (tmp_path / "train",))
    assert found.audits == 0
    (one,) = read_dump(tmp_path / "train")
    assert not one.held_out
    assert one.counts == {f"prompt {p}\nx": (8, (8, 1, 0, 0)[p]) for p in range(4)}
    assert len(set(one.outputs["prompt 0\nx"])) == 3


def test_prompts_of_the_newer_dumps_are_told_by_uid(tmp_path: Path) -> None:
    rows = [
        {**verl_row(0, i, right=i % 2 == 0), "uid": f"a_{p}_{i}_0"}
        for p in range(2)
        for i in range(4)
    ]
    rows[0] = {key: value for key, value in rows[0].items() if key not in ("acc", "score")}
    (one,) = read_dump(lines(tmp_path / "5.jsonl", rows).parent)
    assert one.counts == {"a_0": (3, 1), "a_1": (4, 2)}
    assert one.ungraded == 1


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no metrics file"):
        replay(tmp_path / "none.jsonl", GuardConfig())
    with pytest.raises(DataError, match=r"neither metrics\.jsonl nor"):
        replay(tmp_path, GuardConfig())
    with pytest.raises(DataError, match="every row needs a step"):
        replay(lines(tmp_path / "x.jsonl", [{"a": 1}]), GuardConfig())
    with pytest.raises(DataError, match="no trainer state"):
        replay(lines(tmp_path / "trainer_state.json", [{}]), GuardConfig())
    with pytest.raises(DataError, match="holds no dump"):
        replay(lines(tmp_path / "m.jsonl", [{"step": 1, "kl": 1.0}]), GuardConfig(), (tmp_path,))


def test_the_verb_prints_what_the_guard_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines(tmp_path / "guard.jsonl", [line_of(row) for row in course((0.8, 0.4, 0.1))])
    argv = ["rewardable", "guard", str(tmp_path / "guard.jsonl"), "--allow", "raise_kl"]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr().out
    assert stop.value.code == 0
    assert "support@8 of later" in said
    assert "would do: raise_kl" in said
    assert "at the end (step 30)" in said
    monkeypatch.setattr("sys.argv", [*argv, "--alias", "x"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    with pytest.raises(ConfigError):
        GuardConfig.from_dict({"aliases": {"x": "nothing"}})


def training_run(path: Path) -> Path:
    rows, guard = course((0.8, 0.4, 0.1)), Guard(GuardConfig())
    said = [guard.observe(row) for row in rows]
    lines(path / "guard.jsonl", [line_of(row) for row in rows])
    lines(path / "metrics.jsonl", [
        {"step": row.step, "reward/raw": 0.5, "reward": 0.6, "kl": None, **row.metrics}
        for row in rows[1:]
    ])  # fmt: skip
    closing = {"step": 30, "closing": True, "guard/share_thinking": 0.01,
               "guard/share_looking": 0.2, "looks_postponed": 2, "failed": ""}  # fmt: skip
    spoken = [{**one.to_dict(), "done": ["did <this>"]} for one in said if one.speaks]
    lines(path / "guard-decisions.jsonl", [*spoken, closing])
    return path


def test_the_timeline_holds_what_was_logged_sampled_and_decided(tmp_path: Path) -> None:
    table = timeline_table(training_run(tmp_path))
    raw = table.select(panel="reward", line="raw")
    assert [row.labels["step"] for row in raw] == list(range(1, 31))
    assert {row.estimate.value for row in raw} == {0.5}
    assert table.select(panel="KL") == ()
    start = table.one(panel="looks", line="support@8", step=0, task="later")
    assert (start.n_prompts, start.n_graded) == (P, 4 * P * N)
    truth = float((1 - (1 - BASE) ** 8).mean())
    assert start.low is not None
    assert start.high is not None
    assert start.low < truth < start.high
    decision = table.select(panel="decision")[0]
    assert decision.labels["line"] == "support@8"
    assert decision.estimate.value is not None
    assert decision.estimate.value < truth
    assert "2 looks were put off" in " ".join(table.notes)


def test_the_page_of_a_timeline(tmp_path: Path) -> None:
    back = [{"at": 28, "to": 10, "why": ""}]
    lines(training_run(tmp_path) / "rollbacks.json", [json.dumps(back)])
    page = write_timeline(tmp_path).read_text(encoding="utf-8")
    assert page.count("<figure>") == 5
    assert "did &lt;this&gt;" in page
    assert "rolled back to step 10" in page
    assert "src=" not in page.replace("default-src", "").replace("img-src", "")


def test_a_run_without_a_guard_has_a_timeline_too(tmp_path: Path) -> None:
    lines(tmp_path / "metrics.jsonl", [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.7}])
    table = timeline_table(tmp_path)
    assert table.notes[0] == "2 logged steps; no guard watched."
    assert len(table.select(panel="reward", line="raw")) == 2
