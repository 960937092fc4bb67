from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardable.errors import BoundaryError, DataError, ResumeError
from rewardable.store import Run
from rewardable.store.files import write_lock, write_text


def parts(run: Run, folder: str = "rollouts") -> list[Path]:
    return sorted((run.path / folder).glob("*.parquet"))


def test_a_torn_part_is_ignored_and_its_rows_can_be_sampled_again(world: Any, stored: Any) -> None:
    for index in range(3):
        world.run.add_rollouts([world.rollout(0, index)])
    torn = parts(world.run)[1]
    torn.write_bytes(torn.read_bytes()[:-20])
    fresh = Run.open(world.run.path)
    assert [rollout.id.index for rollout in stored()] == [0, 2]
    assert fresh.torn_parts() == (torn.name,)
    fresh.add_rollouts([world.rollout(0, 1)])
    assert len(stored()) == 3
    assert torn.exists()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1junkPAR1", b"\0" * 4096])
def test_junk_parts_are_ignored(world: Any, stored: Any, content: bytes) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])
    (world.run.path / "rollouts" / "part-00000099-dead.parquet").write_bytes(content)
    assert len(stored()) == 1


def test_leftover_temporaries_are_never_read_and_go_at_the_next_write(
    world: Any, stored: Any
) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])
    leftover = parts(world.run)[0].with_name(".tmp-123-part-00000002-x.parquet")
    leftover.write_bytes(parts(world.run)[0].read_bytes())
    assert len(stored()) == 1
    Run.open(world.run.path).add_rollouts([world.rollout(0, 1)])
    assert not leftover.exists()
    assert len(stored()) == 2


def test_damage_inside_a_part_is_loud(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, i, f"text {i}" * 50) for i in range(200)])
    part = parts(world.run)[0]
    content = bytearray(part.read_bytes())
    content[100 : len(content) // 2] = os.urandom(len(content) // 2 - 100)
    part.write_bytes(content)
    with pytest.raises(BoundaryError, match="store"):
        list(Run.open(world.run.path).rollouts(**world.place))


def test_parts_carry_their_version_and_another_one_is_refused(world: Any) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])
    part = parts(world.run)[0]
    schema = pq.read_schema(part)
    assert schema.metadata[b"rewardable.version"] == b"1"
    future = schema.with_metadata({**schema.metadata, b"rewardable.version": b"2"})
    pq.write_table(pa.table(pq.read_table(part).columns, schema=future), part)
    with pytest.raises(DataError, match="format version 2, expected rollouts of version 1"):
        Run.open(world.run.path).samples(**world.place)


def test_part_names_never_collide(world: Any) -> None:
    other = Run.open(world.run.path)
    for index in range(4):
        (world.run if index % 2 else other).add_rollouts([world.rollout(0, index)])
    numbers = [path.name.split("-")[1] for path in parts(world.run)]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 4


def test_a_failing_write_leaves_nothing(world: Any, stored: Any, monkeypatch: Any) -> None:
    world.run.add_rollouts([world.rollout(0, 0)])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("rewardable.store.parts.publish", full)
        with pytest.raises(OSError, match="No space"):
            world.run.add_rollouts([world.rollout(0, 1)])
    assert [path.name for path in (world.run.path / "rollouts").iterdir()] == [
        parts(world.run)[0].name
    ]
    world.run.add_rollouts([world.rollout(0, 1)])
    assert len(stored()) == 2


def hold(path: Path, ready: Any) -> None:
    with write_lock(path):
        ready.set()
        time.sleep(60)


def test_the_lock_waits_names_its_holder_and_dies_with_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    holder = context.Process(target=hold, args=(tmp_path / ".lock", ready))
    holder.start()
    try:
        assert ready.wait(120)
        message = f"being written by process {holder.pid}"
        with pytest.raises(ResumeError, match=message), write_lock(tmp_path / ".lock", wait_s=0.2):
            pass
    finally:
        holder.kill()
        holder.join()
    with write_lock(tmp_path / ".lock", wait_s=5):
        pass


def test_text_is_replaced_whole(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "one")
    write_text(tmp_path / "a.txt", "two")
    assert (tmp_path / "a.txt").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
