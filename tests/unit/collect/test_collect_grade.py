from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewardable.collect import Progress, grade
from rewardable.errors import BoundaryError, ConfigError
from rewardable.records import Outcome, failed_completion

ODD = {
    "raise": "ValueError: bad answer",
    "exit": "SystemExit: 3",
    "float": "no verdict: the verifier returned float",
    "nan": "no verdict: part 'format' is nan",
    "score": "ConfigError: score must lie in [0, 1] or be None, got 7.0.",
}


@pytest.fixture
def habits(kit: Any) -> Any:
    import stub_verifiers

    return stub_verifiers.Habits()


def filled(kit: Any, *texts: str) -> Any:
    sink = kit.Sink()
    sink.add_rollouts([kit.row(kit.prompts[i % 4], i, text) for i, text in enumerate(texts)])
    return sink


def by_text(sink: Any) -> dict[str, Any]:
    return {row.completion.text: sink.verdicts[one] for one, row in sink.rows.items()}


@pytest.mark.parametrize("workers", [0, 2])
def test_every_rollout_gets_a_verdict_whatever_the_verifier_does(
    kit: Any, habits: Any, workers: int
) -> None:
    sink = filled(kit, "right", "wrong", *ODD, "other")
    failed = kit.row(kit.prompts[0], 99, "")
    sink.add_rollouts([replace(failed, completion=failed_completion("out of memory"))])
    report = grade(habits, kit.prompts, sink, workers=workers)
    said = by_text(sink)
    assert said["right"].outcome is Outcome.CORRECT
    assert said["wrong"].outcome is Outcome.WRONG
    assert {text: said[text].reason for text in ODD} == ODD
    assert said[""].reason == "engine: out of memory"
    assert {said[text].outcome for text in (*ODD, "")} == {Outcome.UNGRADED}
    assert (said["other"].verifier, said["other"].version) == ("habits", "1")
    assert (report.n_graded, report.n_correct, report.n_wrong, report.n_ungraded) == (9, 2, 1, 6)
    assert report.reasons == dict.fromkeys([*ODD.values(), "engine: out of memory"], 1)
    assert grade(habits, kit.prompts, sink, workers=workers).n_graded == 0


def test_only_the_given_prompts_are_graded(kit: Any, habits: Any) -> None:
    sink = filled(kit, "right", "right", "right", "right")
    assert grade(habits, kit.prompts[:3], sink).n_graded == 3


def test_given_rollouts_are_graded_again(kit: Any, habits: Any) -> None:
    sink = filled(kit, "right", "wrong")
    grade(habits, kit.prompts, sink)
    rows = [row for row in sink.rows.values() if row.completion.text == "right"]
    assert grade(habits, kit.prompts, sink, rollouts=rows).n_graded == 1


def test_hanging_and_dying_verifiers_cost_their_own_row_alone(kit: Any, habits: Any) -> None:
    texts = [f"right|{i}" for i in range(150)]
    for place, text in ((3, "hang"), (40, "die"), (41, "segfault"), (149, "deaf")):
        texts[place] = text
    sink = filled(kit, *texts)
    start = time.monotonic()
    report = grade(habits, kit.prompts, sink, workers=2, timeout_s=1.0)
    assert time.monotonic() - start < 60
    assert (report.n_graded, report.n_ungraded, report.n_correct) == (150, 4, 146)
    assert report.reasons == {
        "timeout: 1 s": 2,
        "verifier process died: exit code 5": 1,
        "verifier process died: exit code -11": 1,
    }
    assert by_text(sink)["deaf"].reason == "timeout: 1 s"


def test_the_clock_of_one_verdict_is_not_that_of_its_neighbours(kit: Any, habits: Any) -> None:
    sink = filled(kit, *(f"slow|{i}" for i in range(6)))
    assert grade(habits, kit.prompts, sink, timeout_s=1.0).n_correct == 6


def test_a_slow_reader_is_no_timeout(kit: Any, habits: Any) -> None:
    sink = filled(kit, *(f"slow|{i}" for i in range(2)))

    def dawdle(_: Progress) -> None:
        time.sleep(1.0)

    assert grade(habits, kit.prompts, sink, timeout_s=0.8, on_progress=dawdle).n_correct == 2


def test_children_of_a_hanging_verifier_die_with_it(kit: Any, habits: Any, tmp_path: Path) -> None:
    sink = filled(kit, f"child|{tmp_path / 'pids'}", "right")
    report = grade(habits, kit.prompts, sink, timeout_s=1.5)
    assert (report.n_correct, report.reasons) == (1, {"timeout: 1.5 s": 1})
    deadline = time.monotonic() + 5
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        while alive(pid):
            assert time.monotonic() < deadline, f"process {pid} is still there"
            time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_interrupt_keeps_the_verdicts_made_so_far(kit: Any, habits: Any) -> None:
    sink = filled(kit, "right", "wrong", "interrupt", "right|2")
    with pytest.raises(KeyboardInterrupt):
        grade(habits, kit.prompts, sink)
    assert len(sink.verdicts) == 2


def test_an_interrupt_ends_the_workers(kit: Any, habits: Any) -> None:
    sink = filled(kit, *(f"slow|{i}" for i in range(40)))

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade(habits, kit.prompts, sink, workers=2, on_progress=interrupt)
    assert 1 <= len(sink.verdicts) < 40
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    names = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children]
    assert not [name for name in names if b"spawn_main" in name]


def test_a_verifier_that_cannot_travel_is_named(kit: Any, habits: Any) -> None:
    import stub_verifiers

    class Local(stub_verifiers.Habits):
        pass

    sink = filled(kit, "right")
    with pytest.raises(ConfigError, match="at module level"):
        grade(Local(), kit.prompts, sink, workers=1)
    with pytest.raises(BoundaryError, match="cannot be loaded in a process: RuntimeError: no lic"):
        grade(stub_verifiers.Unloadable(), kit.prompts, sink, workers=1)
    assert grade(Local(), kit.prompts, sink).n_correct == 1


def test_settings_out_of_range_are_refused(kit: Any, habits: Any) -> None:
    for bad in ({"workers": -1}, {"timeout_s": 0.0}):
        with pytest.raises(ConfigError, match="expected workers"):
            grade(habits, kit.prompts, kit.Sink(), **bad)


def test_nothing_to_grade_starts_no_process(
    kit: Any, habits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewardable.collect.pool._Worker", None)
    report = grade(habits, kit.prompts, kit.Sink(), workers=4, timeout_s=1.0)
    assert report.n_graded == 0


def test_a_run_of_engine_failures_longer_than_any_chunk_is_graded(kit: Any, habits: Any) -> None:
    sink = kit.Sink()
    rows = [kit.row(kit.prompts[0], i, "right") for i in range(500)]
    broken = [replace(row, completion=failed_completion("x")) for row in rows[:-1]]
    sink.add_rollouts([*broken, rows[-1]])
    report = grade(habits, kit.prompts, sink, workers=1)
    assert (report.n_graded, report.n_correct) == (500, 1)
