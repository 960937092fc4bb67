"""Kill a sample + grade run at random moments; in the end nothing is lost, nothing doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rewardable.records import Rollout, Verdict
from rewardable.store import Run

ROOT = Path(__file__).resolve().parents[2]
DRIVER = str(Path(__file__).with_name("kill_driver.py"))
CLI = [sys.executable, "-c", "from rewardable.cli import main; main()"]
POCKET = ["--task", "countdown-steps:numbers=4,values=1-10,targets=10-50,min_solutions=4"]
COMMANDS = {
    "fake": (
        [sys.executable, DRIVER, "sample", "{run}"],
        [sys.executable, DRIVER, "grade", "{run}"],
    ),
    "pocket": (
        [*CLI, "sample", "pocket", *POCKET, "-n", "256", "--prompts", "96",
         "--max-new-tokens", "48", "--dtype", "float32", "--out", "{run}"],
        [*CLI, "grade", "{run}"],
    ),
}  # fmt: skip
"""What is run, in order, again after every kill; ``{run}`` is the run folder."""
KILLS = 30
SEED = 20
SHORTEST_S, LONGEST = 0.2, 0.8
"""Kills come between so many seconds and this share of an uninterrupted run after a start."""


class Killed(Exception):
    """The process was still at work when its time came."""


def execute(commands: Sequence[Sequence[str]], run: Path, kill_after_s: float | None) -> None:
    """Run all commands; kill -9 whichever is at work when the time is up."""
    deadline = None if kill_after_s is None else time.monotonic() + kill_after_s
    for command in commands:
        argv = [part.replace("{run}", str(run)) for part in command]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen(
            argv, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            output, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Killed from None
        assert process.returncode == 0, output.decode(errors="replace")


def content(path: Path) -> dict[Any, tuple[Rollout, Verdict | None]]:
    """All rollouts and verdicts as a reader sees them."""
    run = Run.open(path)
    assert run.torn_parts() == ()
    return {
        rollout.id: (rollout, verdict)
        for group in run.groups()
        for rollout, verdict in run.rollouts(policy_key=group.policy_key, spec_key=group.spec_key)
    }


def raw_ids(path: Path, folder: str) -> Counter[Any]:
    """How often each id stands in the parts, past every protection of the reader."""
    parts = [str(part) for part in (path / folder).glob("*.parquet")]
    columns = 'policy_key, spec_key, prompt_key, "index"'
    rows = duckdb.connect().read_parquet(parts).project(columns).fetchall()
    return Counter(rows)


def meaning(row: tuple[Rollout, Verdict | None]) -> tuple[Any, ...]:
    """What must not depend on the batch a row was sampled in; log-probs may, in the last digits."""
    completion = row[0].completion
    return completion.text, completion.token_ids, completion.finish_reason, row[1]


def compare(path: Path, truth: dict[Any, tuple[Rollout, Verdict | None]]) -> tuple[int, int]:
    """Return (lost, doubled); everything that is there must equal the truth."""
    got = content(path)
    assert [
        key for key in got if key not in truth or meaning(got[key]) != meaning(truth[key])
    ] == []
    lost = len(truth.keys() - got.keys())
    counts = [raw_ids(path, folder) for folder in ("rollouts", "verdicts")]
    lost += sum(len(truth) - len(count) for count in counts)
    return lost, sum(count.total() - len(count) for count in counts)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("policy", list(COMMANDS))
def test_nothing_is_lost_or_doubled_by_thirty_kills(tmp_path: Path, policy: str) -> None:
    commands = COMMANDS[policy]
    start = time.monotonic()
    execute(commands, tmp_path / "whole", None)
    whole_s = time.monotonic() - start
    truth = content(tmp_path / "whole")
    assert truth
    assert all(verdict is not None for _, verdict in truth.values())

    rng = random.Random(SEED)
    kills, finished, stages = 0, 0, Counter[str]()
    path = tmp_path / "killed-0"
    while kills < KILLS or stages["unfinished"]:
        wait_s = rng.uniform(SHORTEST_S, LONGEST * whole_s) if kills < KILLS else None
        try:
            execute(commands, path, wait_s)
        except Killed:
            kills += 1
            stages["grading" if (path / "verdicts").exists() else "sampling"] += 1
            stages["unfinished"] = 1
        else:
            assert compare(path, truth) == (0, 0)
            finished += 1
            stages["unfinished"] = 0
            path = tmp_path / f"killed-{finished}"
    assert kills == KILLS
    assert stages["sampling"] >= 3, stages
    assert stages["grading"] >= (3 if policy == "fake" else 1), stages
    print(  # noqa: T201
        f"\n{policy}: {kills} kills ({dict(stages)}) over {finished} runs "
        f"of {len(truth)} rollouts, "
        f"{whole_s:.1f} s uninterrupted: lost 0, doubled 0"
    )
