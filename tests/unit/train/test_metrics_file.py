"""The file of step metrics: torn ends, steps done again, numbers that are none."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from rewardable.train.logs import MetricsFile


def steps(file: MetricsFile) -> list[int]:
    return [row["step"] for row in file.rows()]


def filled(path: Path, last: int) -> MetricsFile:
    file = MetricsFile(path / "run" / "metrics.jsonl")
    file.start(0)
    for step in range(1, last + 1):
        file.append([{"step": step, "reward": step / 10}])
    return file


def test_a_run_that_goes_on_replaces_the_steps_that_it_does_again(tmp_path: Path) -> None:
    file = filled(tmp_path, 5)
    assert file.start(3) == 2
    file.append([{"step": 4, "reward": -1.0}])
    assert steps(file) == [1, 2, 3, 4]
    assert file.rows()[-1]["reward"] == -1.0


@pytest.mark.parametrize("torn", [b'{"step": 4, "rew', b'{"step": 4}', b"\xff\xfe", b"\0\0\0"])
def test_a_torn_end_is_dropped_and_the_next_row_is_whole(tmp_path: Path, torn: bytes) -> None:
    file = filled(tmp_path, 3)
    file.path.write_bytes(file.path.read_bytes() + torn)
    assert steps(file) == [1, 2, 3]
    file.start(3)
    file.append([{"step": 4, "reward": 0.4}])
    assert steps(file) == [1, 2, 3, 4]
    assert all(json.loads(line) for line in file.path.read_text().splitlines())


def test_a_start_from_nothing_keeps_nothing(tmp_path: Path) -> None:
    file = filled(tmp_path, 3)
    assert file.start(0) == 3
    assert file.rows() == []
    assert file.path.read_bytes() == b""


def test_numbers_that_are_none_become_null(tmp_path: Path) -> None:
    file = filled(tmp_path, 0)
    file.append([{"step": 1, "kl": math.nan, "loss": math.inf, "text": 'a"\n'}])
    assert file.rows() == [{"step": 1, "kl": None, "loss": None, "text": 'a"\n'}]
    assert "NaN" not in file.path.read_text()
