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
    "adaptive": ([sys.executable, DRIVER, "adaptive", "{run}"],),
    "pocket": (
        [*CLI, "sample", "pocket", *POCKET, "-n", "256", "--prompts", "96",
         "--max-new-tokens", "48", "--dtype", "float32", "--out", "{run}"],
        [*CLI, "grade", "{run}"],
    ),
}  # fmt: skip
"""What is run, in order, again after every kill; ``{run}`` is the run folder."""
KILLS = 30
SEED = 20
SHORTEST_S, LONGEST = 0.2, 0.9
"""A kill comes between so many seconds and this share of the command's own time after its start."""


class Killed(Exception):
    """The process was still at work when its time came."""


def execute(
    commands: Sequence[Sequence[str]], run: Path, kill: tuple[int, float] | None = None
) -> list[float]:
    """Run all commands; return their seconds. ``kill`` is (which one, seconds after its start)."""
    seconds: list[float] = []
    for place, command in enumerate(commands):
        argv = [part.replace("{run}", str(run)) for part in command]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        start = time.monotonic()
        process = subprocess.Popen(
            argv, env=env, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        left = kill[1] if kill is not None and kill[0] == place else None
        try:
            output, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Killed from None
        assert process.returncode == 0, output.decode(errors="replace")
        seconds.append(time.monotonic() - start)
    return seconds


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
    whole_s = execute(commands, tmp_path / "whole")
    truth = content(tmp_path / "whole")
    assert truth
    assert all(verdict is not None for _, verdict in truth.values())

    rng = random.Random(SEED)
    kills, finished = Counter[int](), 0
    path, unfinished = tmp_path / "killed-0", False
    while kills.total() < KILLS or unfinished:
        stage = rng.randrange(len(commands))
        moment = (stage, rng.uniform(SHORTEST_S, LONGEST * whole_s[stage]))
        try:
            execute(commands, path, moment if kills.total() < KILLS else None)
        except Killed:
            kills[stage] += 1
            unfinished = True
        else:
            assert compare(path, truth) == (0, 0)
            finished, unfinished = finished + 1, False
            path = tmp_path / f"killed-{finished}"
    assert kills.total() == KILLS
    assert min(kills[stage] for stage in range(len(commands))) >= 3, kills
    print(  # noqa: T201
        f"\n{policy}: {kills[0]} kills in sampling, {kills[1]} in grading, over {finished} runs "
        f"of {len(truth)} rollouts, "
        f"{sum(whole_s):.1f} s uninterrupted: lost 0, doubled 0"
    )
